"""Make pages of finished runs, and an index of everything that is tested and measured.

  fairseq-xling report runs/ablation eval.json --output pages --jsonl scores.jsonl
  fairseq-xling report runs/ablation --figures figures --figure-width 3.3
  pytest --rows tests.json tests
  fairseq-xling report --index --tests tests.json runs/* --output pages

RUN is the folder of a run (`trelm run`, `ablate`, `eval transfer`, `eval matrix`, `eval overlap`,
`translate mds`, `probe`, `embed inspect`, `clcr run`, `clcr classify`, `clcr probe`, `demo`), or a
JSON file of results (`eval`, `eval cka`, `map`, `clcr report`). Each page is one self-contained
HTML file: figures redrawn from the JSON, every number as CSV and JSON to download, and the command
that made it. `--index` lists every row of the specification with its tests and their outcome, the
command to run for it, and the latest measured figure.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, refuse_files_above
from fairseq_xling.core.named_files import FILE, NEW_FILE, NEW_FOLDER, RUN, Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.results.figure_file import DPI, SUFFIXES, WIDTHS, Drawing, figure_data

if TYPE_CHECKING:
    from fairseq_xling.results.page import Page, Result

GROUP = "Studies and reports"
INDEX = "index.html"
FORMATS = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
_LONGEST = 60  # letters of a section in a name


@dataclasses.dataclass(frozen=True)
class Options:
    runs: tuple[str, ...] = argument("folder of a finished run, or its JSON file", RUN, words="*")
    output: str | None = option(None, "folder for the pages", metavar=NEW_FOLDER)
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
    index: bool = option(False, "also write index.html, the page of all rows")
    tests: tuple[str, ...] = option(
        (), "test outcomes, from `pytest --rows FILE`; repeatable", metavar=FILE
    )
    recipes: tuple[str, ...] = option(
        (),
        "recipe (YAML) or folder of them that names rows, such as examples; repeatable",
        metavar=Input("PATH"),
    )


def run(options: Options) -> None:
    from fairseq_xling.results.exports import write_lines
    from fairseq_xling.results.page import write_page
    from fairseq_xling.results.result import find_results, make_joined, make_page
    from fairseq_xling.studies.pages.index import make_entries, read_tests, summary, write_index
    from fairseq_xling.studies.pages.presets import find_presets

    if not options.runs and not options.index:
        raise UserError("RUN must name at least one finished run, or give `--index`")
    if not options.index and (options.tests or options.recipes):
        raise UserError("`--tests` and `--recipes` require `--index`")
    if options.figures is None and (options.figure_format or options.figure_width):
        raise UserError("`--figure-format` and `--figure-width` require `--figures`")
    if options.output is None and (
        options.index or (options.jsonl is None and options.figures is None)
    ):
        raise UserError(
            "`--output` must name a folder for the pages, or give RUN and `--jsonl` or `--figures`"
        )
    output = Path(options.output or "")
    if output.exists() and not output.is_dir():
        raise UserError(f"`--output` must be a folder, got the file {output}")
    results = [result for run in options.runs for result in find_results(Path(run))]
    drawn = options.output is not None or options.figures is not None
    made = [(result, make_page(result, drawn)) for result in results]
    made += make_joined(results, drawn)
    names = page_names([result for result, _ in made])
    pages = [(*one, f"{name}.html") for one, name in zip(made, names, strict=True)]
    figures = named_figures((name, page) for name, (_, page) in zip(names, made, strict=True))
    form = options.figure_format or "pdf"
    if options.figures is not None:
        check_folder(Path(options.figures), figures, form)
    entries = []
    if options.index:
        tests = read_tests([Path(path) for path in options.tests])
        entries = make_entries(tests, find_presets(map(Path, options.recipes)), pages)
    if options.output is not None:
        output.mkdir(parents=True, exist_ok=True)  # where it cannot be, nothing else is written
    if options.jsonl is not None:
        print(f"scores: {options.jsonl}, {write_lines(options.jsonl, made):,} lines")
    if options.figures is not None:
        write_figures(Path(options.figures), figures, form, options.figure_width)
        print(f"figures: {options.figures}, {len(figures):,} as {form.upper()}")
    for result, page, link in pages if options.output is not None else ():
        write_page(output / link, result, page)
        print(f"page: {output / link}")
    if options.index:
        write_index(output / INDEX, entries, pages, bool(options.tests))
        print(f"{summary(entries)}\nindex: {output / INDEX}")


def page_names(results: Sequence[Result]) -> list[str]:
    """A name for each page: that of its results, with enough parent folders to be unique."""
    paths = [result.path.resolve() for result in results]
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"{path}: named twice")
    taken = {Path(INDEX).stem}
    names = []
    for result, path in zip(results, paths, strict=True):
        name = result.name
        parents = list((path.parent.parent if name == path.parent.name else path.parent).parts)
        while name in taken or [r.name for r in results].count(name) > 1:
            name = f"{parents.pop()}-{name}".replace("/", "")
        taken.add(name)
        names.append(name)
    return names


def named_figures(pages: Iterable[tuple[str, Page]]) -> dict[str, Drawing]:
    """What draws every figure of ``pages``, by ``PAGE-SECTION``, a name for its file.

    Args:
        pages: each with its name.
    """
    found: dict[str, Drawing] = {}
    for name, page in pages:
        for section in page.sections:
            if section.figure is None:
                continue
            first = f"{name}-{section.name or slug(section.title)}"
            unique, number = first, 1
            while unique in found:
                number += 1
                unique = f"{first}-{number}"
            found[unique] = section.figure
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
    names = list(names)
    if not names:
        raise UserError("`--figures` requires a RUN with figures, got none")
    refuse_files_above("--figures", folder / names[0])
    taken = [f"{name}.{form}" for name in names if (folder / f"{name}.{form}").exists()]
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise UserError(
            f"`--figures` must be a folder without these figures, got {str(folder)!r} with "
            f"{taken[0]}{more}"
        )


def write_figures(
    folder: Path, figures: Mapping[str, Drawing], form: str, width: float | None
) -> None:
    """Write each of ``figures`` into ``folder`` as ``NAME.form``, atomically.

    Args:
        width: of each, in inches (default: as drawn).
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in figures.items():
        data = figure_data(drawing, f".{form}", width)
        with atomic_write(folder / f"{name}.{form}") as file:
            file.write(data)
