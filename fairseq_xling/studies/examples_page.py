"""README.md of a folder of examples: its own head, and a section for each finished run."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.results.page import RESULTS, Result
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import kind_of, make_page
from fairseq_xling.results.tables import markdown_table

Body = Callable[[dict[str, Any]], list[str]]
_IMAGE = re.compile(r"!\[(.*)\]\((.+)\)")


@exits_on_user_error
def write_page(script: str, description: str | None, head: str, body: Body) -> None:
    """The program of an examples folder: ``SCRIPT RUN [RUN ...] [--output FILE]``.

    Args:
        script: its path; the page is written to the same folder.
        description: shown by ``--help``.
        head: the page above the sections.
        body: the lines of a section, made from a run's ``results.json``; its `UserError` reports a
            problem with the run. A line ``![title](file)`` shows a figure of the run's folder,
            which is copied to the page's folder.

    Raises:
        SystemExit: with one line, for a run that is not finished.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="`--output` of a run")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(script).with_name("README.md"),
        metavar="FILE",
        help="page to write (default: README.md in this script's folder)",
    )
    args = parser.parse_args()
    sections = [section(run, body, args.output.parent) + "\n" for run in args.runs]
    page = "\n".join([head, *sections])
    with atomic_write(args.output, "w") as file:
        file.write(page)


def section(run: Path, body: Body, folder: Path) -> str:
    """What was run, where and when, and the results; figures are copied into ``folder``.

    Raises:
        UserError: if there is no finished run, or a figure is missing.
    """
    if not (run / RESULTS).is_file():
        raise UserError(f"{run}: contains no finished run (no {RESULTS})")
    record = _as_shown(run)
    origin = record["provenance"]
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    where = f"{origin['date'][:10]}, {origin['machine']}, seeds {record['config']['seeds']}"
    try:
        lines = [_placed(line, run, folder) for line in body(record)]
    except UserError as error:
        raise UserError(f"{run}: {error}") from None
    return "\n".join([f"## {run.name}", "", f"{where}; {version}.", "", *lines])


def _as_shown(run: Path) -> dict[str, Any]:
    """The record of a run; where its page has the table and notes, with these."""
    record = read_json(run / RESULTS)
    if kind_of(record) is None or {"header", "notes"} <= record.keys():
        return record
    for section in make_page(Result(run / RESULTS, record)).sections:
        if section.name == "table":
            record |= {"header": section.header, "rows": section.rows, "notes": section.notes}
    return record


def _placed(line: str, run: Path, folder: Path) -> str:
    """The line; for a figure, with its name in ``folder``, to which it is copied."""
    image = _IMAGE.fullmatch(line)
    if image is None:
        return line
    title, file = image.groups()
    if not (run / file).is_file():
        raise UserError(f"no figure {file}")
    name = f"{run.name}-{file.replace('/', '-')}"
    with atomic_write(folder / name) as copy:
        copy.write((run / file).read_bytes())
    return f"![{title}]({name})"


def table_lines(record: dict[str, Any]) -> list[str]:
    """The table of a study and its notes."""
    table = markdown_table(record["header"], record["rows"])
    return [table, "", *(f"- {note}" for note in record["notes"])]


def table_section(record: dict[str, Any]) -> Section:
    """The section of its page that a run also leaves as ``table.md``."""
    page = make_page(Result(Path(RESULTS), record))
    return next(section for section in page.sections if section.name == "table")
