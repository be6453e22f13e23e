"""README.md of a folder of examples: its own head, and a section for each finished run.

The results of the runs stay next to the page, so that it can be made again without them: a file for
a run with one result, a folder for one that left several.
"""

import argparse
import dataclasses
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write, read_json, write_json
from fairseq_xling.core.named_files import NEW_FILE, RUN
from fairseq_xling.results.page import RESULTS, Result
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import find_results, kind_of, make_page
from fairseq_xling.results.tables import markdown_table
from fairseq_xling.studies.pages.rows import spec_rows

Body = Callable[[dict[str, Any]], list[str]]
Several = Callable[[Sequence[Result]], list[str]]
_IMAGE = re.compile(r"!\[(.*)\]\((.+)\)")
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^\s/,=:;'\"]+/)+")
_KEPT = "results"


@exits_on_user_error
def write_page(
    script: str, description: str | None, head: str, body: Body, several: Several | None = None
) -> None:
    """The program of an examples folder: ``SCRIPT [RUN ...] [--output FILE]``.

    The results of each RUN are copied to ``results/NAME.json`` next to the page, those of a RUN
    without a ``results.json`` to the folder ``results/NAME``. Sections of other runs are made again
    from these files; those without such a file stay as they are. New sections follow the old ones.

    Args:
        script: its path; the page is written to the same folder.
        description: shown by ``--help``.
        head: the page above the sections.
        body: the lines of a section, made from a run's ``results.json``; its `UserError` reports a
            problem with the run. A line ``![title](file)`` shows a figure of the run's folder,
            which is copied to the page's folder.
        several: likewise, for the results of a run that left several.

    Raises:
        SystemExit: with one line, for a run that is not finished.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, metavar=RUN, help="`--output` of a run")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(script).with_name("README.md"),
        metavar=NEW_FILE,
        help="page to write (default: README.md in this script's folder)",
    )
    args = parser.parse_args()
    update_page(args.output, head, body, args.runs, several)


def update_page(
    page: Path, head: str, body: Body, runs: Sequence[Path], several: Several | None = None
) -> None:
    """Write a page anew; see `write_page`."""
    folder = page.parent / _KEPT
    sections = _sections(page)
    renewed = {run.name for run in runs}
    for kept in sorted(folder.glob("*")):
        if kept.stem not in renewed and (kept.is_dir() or kept.suffix == ".json"):
            found, lines = _results(kept, kept, body, several)
            sections[kept.stem] = _section(kept.stem, found, lines, page.parent, None)
    for run in runs:
        found, lines = _results(run, run / RESULTS, body, several)
        found = [dataclasses.replace(one, record=_portable(one.record)) for one in found]
        sections[run.name] = _section(run.name, found, lines, page.parent, run)
        for one in found:
            name = Path(run.name, one.path.name)
            kept = folder / (f"{run.name}.json" if one.path.name == RESULTS else name)
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_json(kept, one.record)
        names = {one.path.name for one in found}
        for old in (folder / run.name).glob("*.json"):  # of a measure that has another name now
            if old.name not in names:
                old.unlink()
    with atomic_write(page, "w") as file:
        file.write("\n".join([head, *sections.values()]))


def _results(
    run: Path, only: Path, body: Body, several: Several | None
) -> tuple[list[Result], Several]:
    """The results of a run, and what makes their lines; ``only`` is the file of a single one."""
    if only.is_file():
        return [Result(only, read_json(only))], lambda found: body(_as_shown(found[0].record))
    if several is None or not run.is_dir():
        raise UserError(f"{run}: contains no finished run (no {RESULTS})")
    return find_results(run), several


def _sections(page: Path) -> dict[str, str]:
    """The sections that a page has, by name."""
    if not page.is_file():
        return {}
    _, *sections = re.split("^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {text.split("\n", 1)[0][3:]: text.rstrip("\n") + "\n" for text in sections}


def _portable(found: Any) -> Any:
    """A record without folders of the machine that it comes from.

    >>> _portable({"inputs": {"run /home/me/a": 1}, "command": "train /a/b,c=/tmp/c.pt --lr 1/3"})
    {'inputs': {'run a': 1}, 'command': 'train b,c=c.pt --lr 1/3'}
    """
    if isinstance(found, dict):
        return {_portable(key): _portable(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_portable(value) for value in found]
    return _FOLDERS.sub("", found) if isinstance(found, str) else found


def _section(
    name: str, found: Sequence[Result], lines: Several, folder: Path, run: Path | None
) -> str:
    """What was run, and the results; figures of ``run`` are copied to ``folder``."""
    origin = found[0].record["provenance"]
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    where = f"{origin['date'][:10]}, {origin['machine']}"
    if seeds := found[0].record.get("config", {}).get("seeds"):
        where += f", seeds {seeds}"
    if found[0].took:
        where += f"; its steps took {found[0].took}"
    try:
        placed = [_placed(line, name, folder, run) for line in lines(found)]
    except UserError as error:
        raise UserError(f"{run or name}: {error}") from None
    return "\n".join([f"## {name}", "", f"{where}; {version}.", "", *placed]) + "\n"


def _as_shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a run; where its page has the table and notes, with these."""
    if kind_of(record) is None or {"header", "notes"} <= record.keys():
        return dict(record)
    for section in make_page(Result(Path(RESULTS), record), figures=False).sections:
        if section.name == "table":
            return {
                **record,
                "header": section.header,
                "rows": section.rows,
                "notes": section.notes,
            }
    return dict(record)


def _placed(line: str, name: str, folder: Path, run: Path | None) -> str:
    """The line; for a figure, with its name in ``folder``, to which it is copied."""
    image = _IMAGE.fullmatch(line)
    if image is None:
        return line
    title, file = image.groups()
    copy = folder / f"{name}-{file.replace('/', '-')}"
    if not (copy if run is None else run / file).is_file():
        raise UserError(f"no figure {copy if run is None else file}")
    if run is not None:
        with atomic_write(copy) as to:
            to.write((run / file).read_bytes())
    return f"![{title}]({copy.name})"


def measured_table(found: Sequence[Result], named: bool = False) -> str:
    """What results measured of rows of the specification, in its order, next to the papers'.

    Args:
        named: also say which result a figure is of; the mean of those that it calls by one name.
    """
    measured: dict[tuple[str, str, str], list[float]] = {}
    for result in found:
        for one in make_page(result, figures=False).measured:
            key = one.row, result.name if named else "", one.what
            measured.setdefault(key, []).append(one.value)
    rows = [
        [code, row.title, *([name] if named else []), what, statistics.fmean(values), row.paper]
        for code, row in spec_rows().items()
        for (of, name, what), values in measured.items()
        if of == code
    ]
    of = ["of"] if named else []
    return markdown_table(["row", "title", *of, "measured", "value", "paper"], rows)


def table_lines(record: dict[str, Any]) -> list[str]:
    """The table of a study and its notes."""
    table = markdown_table(record["header"], record["rows"])
    return [table, "", *(f"- {note}" for note in record["notes"])]


def section_lines(section: Section | None) -> list[str]:
    """The table of a part of a report and its notes, after an empty line; none without it."""
    if section is None:
        return []
    notes = ["", *(f"- {note}" for note in section.notes)] if section.notes else []
    return ["", markdown_table(section.header, section.rows), *notes]


def table_section(record: dict[str, Any]) -> Section:
    """The section of its page that a run also leaves as ``table.md``."""
    page = make_page(Result(Path(RESULTS), record), figures=False)
    return next(section for section in page.sections if section.name == "table")
