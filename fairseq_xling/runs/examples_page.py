"""README.md of a folder of examples: a head of its own, and a section for each finished run."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.runs.tables import markdown_table

Body = Callable[[dict[str, Any]], list[str]]


@exits_on_user_error
def write_page(script: str, description: str | None, head: str, body: Body) -> None:
    """The program of an examples folder: ``SCRIPT RUN [RUN ...] [--output FILE]``.

    Args:
        script: its path; the page is written beside it.
        description: shown by ``--help``.
        head: the page above the sections.
        body: the lines of a section, made from a run's ``results.json``; its `UserError` says what
            is wrong with the run.

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
        help="page to write (default: README.md beside this script)",
    )
    args = parser.parse_args()
    page = "\n".join([head, *(section(run, body) + "\n" for run in args.runs)])
    with atomic_write(args.output, "w") as file:
        file.write(page)


def section(run: Path, body: Body) -> str:
    """What was run, where and when, and what came out.

    Raises:
        UserError: if there is no finished run.
    """
    if not (run / "results.json").is_file():
        raise UserError(f"{run}: holds no finished run (no results.json)")
    record = read_json(run / "results.json")
    origin = record["provenance"]
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    where = f"{origin['date'][:10]}, {origin['machine']}, seeds {record['config']['seeds']}"
    try:
        lines = body(record)
    except UserError as error:
        raise UserError(f"{run}: {error}") from None
    return "\n".join([f"## {run.name}", "", f"{where}; {version}.", "", *lines])


def table_lines(record: dict[str, Any]) -> list[str]:
    """The table of a study and its notes."""
    table = markdown_table(record["header"], record["rows"])
    return [table, "", *(f"- {note}" for note in record["notes"])]
