"""Make pages of finished runs and measures, a page each, and an index of them.

  fairseq-xling report runs/ablation eval.json --output pages --jsonl scores.jsonl
  fairseq-xling report runs/ablation --figures figures --figure-width 3.3

RECORD is the folder of a run (of a study, `trelm run`, `clcr run`, `eval transfer`, `probe`,
`demo`) or a JSON file that a verb wrote with `--output` (`eval`, `eval cka`, `clcr measure`), also
of a verb of your own. Each page is one self-contained HTML file: figures redrawn from the record,
every number as CSV and JSON to download, and the command that made it. Records of the same measure
share a page, with a line each.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.files import atomic_write, refuse_files_above
from fairseq_xling.core.named_files import NEW_FILE, NEW_FOLDER, Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.reports.figure_file import DPI, SUFFIXES, WIDTHS, Drawing, figure_data

if TYPE_CHECKING:
    from fairseq_xling.reports.record import Record

GROUP = "Studies and reports"
INDEX = "index.html"
FORMATS = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
_LONGEST = 60  # letters of a section in a name


@dataclasses.dataclass(frozen=True)
class Options:
    records: tuple[str, ...] = argument(
        "folder of a finished run, or a JSON file of results", Input("RECORD"), words="+"
    )
    output: str | None = option(None, "folder for the pages and their index", metavar=NEW_FOLDER)
    jsonl: str | None = option(
        None,
        "file for every score as a line of JSON: model, seed, task, language, metric, value, "
        "provenance",
        metavar=NEW_FILE,
    )
    figures: str | None = option(
        None, "folder for every figure as a file of its own, for a paper", metavar=NEW_FOLDER
    )
    figure_format: str | None = option(
        None,
        f"pdf (vectors, fonts within), svg or png (at {DPI} dpi) (default: pdf)",
        metavar="FORMAT",
    )
    figure_width: float | None = option(
        None,
        "width of each figure, such as 3.3 for a column and 6.9 for a page, with letters of 8 "
        "points (default: as in the pages)",
        range=WIDTHS,
        metavar="INCHES",
    )


def run(options: Options) -> None:
    check_installed("`fairseq-xling report`", *OF_PAGES)
    from fairseq_xling.reports.page import parts, write_index, write_lines, write_page
    from fairseq_xling.reports.record import find_records, joined

    if options.figures is None and (options.figure_format or options.figure_width):
        raise UserError("`--figure-format` and `--figure-width` require `--figures`")
    if options.output is None and options.jsonl is None and options.figures is None:
        raise UserError("give `--output` for pages, or `--jsonl` or `--figures`")
    output = Path(options.output or "")
    if output.exists() and not output.is_dir():
        raise UserError(f"`--output` must be a folder, got the file {output}")
    found = [record for given in options.records for record in find_records(given)]
    names = page_names(found)
    shown = joined(dict(zip(names, found, strict=True)))
    drawn = options.output is not None or options.figures is not None
    made = {name: parts(record) for name, record in shown.items()}
    for part in (part for of in made.values() for part in of if drawn):
        part.cells, part.svg  # noqa: B018 - damage shows before anything is written
    figures = named_figures(shown) if options.figures is not None else {}
    form = options.figure_format or "pdf"
    if options.figures is not None:
        check_folder(Path(options.figures), figures, form)
    if options.output is not None:
        output.mkdir(parents=True, exist_ok=True)  # where it cannot be, nothing else is written
    if options.jsonl is not None:
        print(f"scores: {options.jsonl}, {write_lines(options.jsonl, found):,} lines")
    if options.figures is not None:
        Path(options.figures).mkdir(parents=True, exist_ok=True)
        for name, drawing in figures.items():
            data = figure_data(drawing, f".{form}", options.figure_width)
            with atomic_write(Path(options.figures) / f"{name}.{form}") as file:
                file.write(data)
        print(f"figures: {options.figures}, {len(figures):,} as {form.upper()}")
    if options.output is not None:
        for name, record in shown.items():
            write_page(output / f"{name}.html", record, made[name])
            print(f"page: {output / name}.html")
        write_index(output / INDEX, shown)
        print(f"index: {output / INDEX}")


def page_names(records: Sequence[Record]) -> list[str]:
    """A name for each page: that of its record, with enough parent folders to be unique."""
    paths = [(record.path or Path()).resolve() for record in records]
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"{path}: named twice")
    taken = {Path(INDEX).stem}
    names = []
    for record, path in zip(records, paths, strict=True):
        name = record.name
        parents = list((path.parent.parent if name == path.parent.name else path.parent).parts)
        while name in taken or [r.name for r in records].count(name) > 1:
            name = f"{parents.pop()}-{name}".replace("/", "")
            if not parents:
                break
        taken.add(name)
        names.append(name)
    return names


def named_figures(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws every figure of ``records``, by ``RECORD-SECTION``, a name for its file."""
    from fairseq_xling.reports.page import parts

    found: dict[str, Drawing] = {}
    for name, record in records.items():
        for part in parts(record):
            if part.section.chart is None:
                continue
            first = f"{name}-{part.section.name or slug(part.section.title)}"
            unique, number = first, 1
            while unique in found:
                number += 1
                unique = f"{first}-{number}"
            found[unique] = part.figure
    return found


def slug(title: str) -> str:
    """``title`` as a part of the name of a file.

    >>> slug("Order: en to de (BLEU)")
    'order-en-to-de-bleu'
    """
    words = re.findall(r"\w+", title.lower())
    return "-".join(words)[:_LONGEST].rstrip("-") or "figure"


def check_folder(folder: Path, names: Iterable[str], form: str) -> None:
    """Reject a folder that the figures ``names`` cannot be written to."""
    if form not in FORMATS:
        raise UserError(f"`--figure-format`: {unknown_name('format', form, list(FORMATS))}")
    files = [folder / f"{name}.{form}" for name in names]
    if not files:
        raise UserError("`--figures` requires a RECORD with figures, got none")
    refuse_files_above("--figures", files[0])
    if taken := [file.name for file in files if file.exists()]:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise UserError(
            f"`--figures` must be a folder without these figures, got {str(folder)!r} with "
            f"{taken[0]}{more}"
        )
