"""README.md of a folder of examples: its own head, and a section for each finished run.

The results of the runs stay next to the page, so that it can be made again without them: a file for
a run with one result, a folder for one that left several.
"""

import argparse
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.named_files import NEW_FILE, RUN
from fairseq_xling.core.progress import clock
from fairseq_xling.reports.claims import every_paper, in_words, judge
from fairseq_xling.reports.page import Part, parts
from fairseq_xling.reports.record import (
    RESULTS,
    Record,
    find_records,
    from_record,
    to_record,
    write_record,
)
from fairseq_xling.reports.tables import markdown_table

Body = Callable[[Record], list[str]]
Several = Callable[[Sequence[Record]], list[str]]
_IMAGE = re.compile(r"!\[(.*)\]\((.+)\)")
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^\s/,=:;'\"]+/)+")
_KEPT, _SHORT = "results", "In short"
_LEAD = """\
What the papers claim, and what these runs measured: the row that should be better, the other one,
and the difference with its 95 % interval. The page of the papers' claims (`make docs`) has the
verdicts."""
_FOLD = '<details markdown="1">\n<summary>Tables and settings</summary>'


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
            lines = _lines(kept, body, several)
            found = find_records(kept)
            sections[kept.stem] = _section(kept.stem, found, lines, page.parent, None)
    for run in runs:
        lines = _lines(run, body, several)
        found = [_portable(record) for record in find_records(run)]
        sections[run.name] = _section(run.name, found, lines, page.parent, run)
        names = set()
        for one in found:
            if one.path is not None and one.path.name != RESULTS:
                kept = folder / run.name / one.path.name
                names.add(kept.name)
            else:
                kept = folder / f"{run.name}.json"
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_record(kept, one)
        for old in (folder / run.name).glob("*.json"):  # of a measure that has another name now
            if old.name not in names:
                old.unlink()
    with atomic_write(page, "w") as file:
        file.write("\n".join([head, *_answers(page), *map(_folded, sections.values())]))


def _answers(page: Path) -> list[str]:
    """The central claims of the papers that runs of this page test, each with its figures."""
    lines = [f"## {_SHORT}", "", _LEAD, ""]
    for claims in every_paper().values():
        own = [c for c in claims if c.central and c.frame.startswith(f"{page.parent.name}/")]
        for verdict in judge(own, page.resolve().parents[1]):
            claim = verdict.claim
            shown = [in_words(one) for one in verdict.shown if one.measure in claim.measures]
            lines.append(f"- {claim.text} *{'; '.join(shown)}* ({claim.code}).")
    return ["\n".join(lines) + "\n"] if lines[-1] else []


def _folded(section: str) -> str:
    """A section whose body opens on a click; one that is folded already stays."""
    title, _, body = section.partition("\n")
    if _FOLD in body:
        return section
    return f"{title}\n\n{_FOLD}\n\n{body.strip()}\n\n</details>\n"


def _lines(run: Path, body: Body, several: Several | None) -> Several:
    """What makes the lines of a run with one record, or with several."""
    if run.is_file() or (run / RESULTS).is_file():
        return lambda found: body(found[0])
    if several is None or not run.is_dir():
        raise UserError(f"{run}: contains no finished run (no {RESULTS})")
    return several


def _sections(page: Path) -> dict[str, str]:
    """The sections that a page has, by name."""
    if not page.is_file():
        return {}
    _, *sections = re.split("^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = [text for text in sections if not text.startswith(f"## {_SHORT}\n")]
    return {text.split("\n", 1)[0][3:]: text.rstrip("\n") + "\n" for text in sections}


def _portable(record: Record) -> Record:
    """A record without folders of the machine that it comes from."""
    path, found = record.path or Path(RESULTS), _without_folders(to_record(record))
    return dataclasses.replace(from_record(path, found), path=path)


def _without_folders(found: Any) -> Any:
    """JSON without folders of the machine that it comes from.

    >>> found = {"inputs": {"run /home/me/a": 1}, "command": "train /a/b,c=/tmp/c.pt --lr 1/3"}
    >>> _without_folders(found)
    {'inputs': {'run a': 1}, 'command': 'train b,c=c.pt --lr 1/3'}
    """
    if isinstance(found, dict):
        return {_without_folders(key): _without_folders(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_without_folders(value) for value in found]
    return _FOLDERS.sub("", found) if isinstance(found, str) else found


def _section(
    name: str,
    found: Sequence[Record],
    lines: Several,
    folder: Path,
    run: Path | None,
) -> str:
    """What was run, and the results; figures of ``run`` are copied to ``folder``."""
    origin = found[0].provenance
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    where = f"{origin['date'][:10]}, {origin['machine']}"
    if seeds := found[0].config.get("seeds"):
        where += f", seeds {seeds}"
    if found[0].seconds and found[0].commands:
        where += f"; its steps took {clock(found[0].seconds)}"
    try:
        placed = [_placed(line, name, folder, run) for line in lines(found)]
    except UserError as error:
        raise UserError(f"{run or name}: {error}") from None
    return "\n".join([f"## {name}", "", f"{where}; {version}.", "", *placed]) + "\n"


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


def part_named(record: Record, name: str = "table") -> Part:
    """The section of a record that a run also leaves as ``NAME.md``.

    Raises:
        UserError: if there is none.
    """
    for part in parts(record):
        if part.section.name == name and part.section.table is not None:
            return part
    raise UserError(f"{record.path}: has no table `{name}`")


def table_lines(part: Part) -> list[str]:
    """A table and its notes."""
    where = part.record.provenance.get("machine")
    first = part.section.name == "table"
    notes = [*part.section.notes, *([f"{where}."] if where and first else [])]
    listed = ["", *(f"- {note}" for note in notes)] if notes else []
    return [markdown_table(*part.shown), *listed]
