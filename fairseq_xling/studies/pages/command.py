"""The verb ``report``: pages of finished runs, the index of rows, figures as files of their own."""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, refuse_files_above
from fairseq_xling.registry import unknown_name
from fairseq_xling.results.exports import write_lines
from fairseq_xling.results.figure_file import SUFFIXES, Drawing, figure_data
from fairseq_xling.results.page import Page, Result, write_page
from fairseq_xling.results.result import find_results, make_joined, make_page
from fairseq_xling.studies.pages.index import make_entries, read_tests, summary, write_index
from fairseq_xling.studies.pages.presets import find_presets

INDEX = "index.html"
FORMATS = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
_LONGEST = 60  # letters of a section in a name


def run_report(args: argparse.Namespace) -> None:
    """See `fairseq_xling.studies.verbs.report`."""
    if not args.runs and not args.index:
        raise UserError("RUN must name at least one finished run, or give `--index`")
    if not args.index and (args.tests or args.recipes):
        raise UserError("`--tests` and `--recipes` require `--index`")
    if args.figures is None and (args.figure_format or args.figure_width):
        raise UserError("`--figure-format` and `--figure-width` require `--figures`")
    if args.output is None and (args.index or (args.jsonl is None and args.figures is None)):
        raise UserError(
            "`--output` must name a folder for the pages, or give RUN and `--jsonl` or `--figures`"
        )
    output = Path(args.output or "")
    if output.exists() and not output.is_dir():
        raise UserError(f"`--output` must be a folder, got the file {output}")
    results = [result for run in args.runs for result in find_results(Path(run))]
    drawn = args.output is not None or args.figures is not None
    made = [(result, make_page(result, drawn)) for result in results]
    made += make_joined(results, drawn)
    names = page_names([result for result, _ in made])
    pages = [(*one, f"{name}.html") for one, name in zip(made, names, strict=True)]
    figures = named_figures((name, page) for name, (_, page) in zip(names, made, strict=True))
    form = args.figure_format or "pdf"
    if args.figures is not None:
        check_folder(Path(args.figures), figures, form)
    entries = []
    if args.index:
        tests = read_tests([Path(path) for path in args.tests])
        entries = make_entries(tests, find_presets(map(Path, args.recipes)), pages)
    if args.output is not None:
        output.mkdir(parents=True, exist_ok=True)  # where it cannot be, nothing else is written
    if args.jsonl is not None:
        print(f"scores: {args.jsonl}, {write_lines(args.jsonl, made):,} lines")
    if args.figures is not None:
        write_figures(Path(args.figures), figures, form, args.figure_width)
        print(f"figures: {args.figures}, {len(figures):,} as {form.upper()}")
    for result, page, link in pages if args.output is not None else ():
        write_page(output / link, result, page)
        print(f"page: {output / link}")
    if args.index:
        write_index(output / INDEX, entries, pages, bool(args.tests))
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
