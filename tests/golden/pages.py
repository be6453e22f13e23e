"""Goldens of the pages of results: Markdown, CSV, JSON lines and HTML of kept records.

Records are `records/*.json`, one of each kind, and the results that the examples keep.
"""

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.results.exports import scores
from fairseq_xling.results.page import Page, Result, csv_text, write_page
from fairseq_xling.results.result import KINDS, find_results, make_joined, make_page
from fairseq_xling.results.tables import markdown_table
from tests.golden.text import ROOT, digest, normalise
from tests.golden.world import scratch

RECORDS = Path(__file__).parent / "records"
_LONG = 40  # lines, after which a table is kept as a digest for every ten
_LONG_EXAMPLE = 6  # likewise, of examples
_DATA = re.compile(r'href="data:[^"]*"')
_SVG = re.compile(r"<svg.*?</svg>", re.S)


def short(lines: list[str], long: int) -> Iterator[str]:
    """All lines, or the first ones with a digest for every ten of the others."""
    yield from lines[:long]
    for first in range(long, len(lines), 10):
        part = lines[first : first + 10]
        yield f"lines {first + 1} to {first + len(part)}: {digest(chr(10).join(part))}"


def _page(result: Result, page: Page, long: int = _LONG) -> Iterator[str]:
    yield from ("== page", page.title, page.source, *page.lead)
    for section in page.sections:
        yield f"== section {section.title} {section.name}".rstrip()
        yield from filter(None, (section.text, *section.notes))
        if section.code:
            yield f"code: {digest(section.code)}"
        if section.figure:
            yield "figure"
        if section.header:
            yield from short(markdown_table(section.header, section.rows).splitlines(), long)
    for name, (header, rows) in page.tables.items():
        yield f"== csv {name}"
        yield from short(csv_text(header, rows).splitlines(), long)
    yield "== measured"
    yield from (f"{one.row}: {one.what}: {one.value!r}" for one in page.measured)
    yield "== lines"
    made = [{**one, "provenance": "as recorded"} for one in scores(result, page)]
    yield from short([json.dumps(one, ensure_ascii=False) for one in made], long)


def _html(result: Result, page: Page) -> Iterator[str]:
    """Digests of the page: of its figures and files, its markup, and what a reader sees."""
    yield "== html"
    path = scratch() / "page.html"
    write_page(path, result, page)
    text = path.read_text(encoding="utf-8")
    yield f"figures: {[digest(svg) for svg in _SVG.findall(text)]}"
    yield f"files: {[digest(link) for link in _DATA.findall(text)]}"
    bare = _DATA.sub("href", _SVG.sub("<svg/>", text))
    yield f"markup: {digest(re.sub('>[^<]*<', '><', bare))}"
    seen = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", "\n", bare, flags=re.S))
    words = " ".join(normalise(seen, ROOT).split())
    yield f"words: {digest(words)}"


def _text(path: Path, long: int = _LONG) -> str:
    (result,) = find_results(path)
    lines = list(_page(result, make_page(result, figures=False), long))
    return normalise("\n".join(lines) + "\n", ROOT)


def _drawn(path: Path) -> str:
    (result,) = find_results(path)
    lines = list(_html(result, make_page(result)))
    return normalise("\n".join(lines) + "\n", ROOT)


def _joined() -> str:
    """Pages that are made of several of the kept records together."""
    results = [result for path in sorted(RECORDS.glob("*.json")) for result in find_results(path)]
    lines: list[str] = []
    for result, page in make_joined(results):
        lines += [f"== joined {result.name}", *_page(result, page), *_html(result, page)]
    return normalise("\n".join(lines) + "\n", ROOT)


def _kinds() -> str:
    return "".join(f"{kind}\n" for kind in KINDS)


def goldens() -> dict[str, Callable[[], str]]:
    """A golden for each kept record."""
    made: dict[str, Callable[[], str]] = {"pages/kinds": _kinds}
    for path in sorted(RECORDS.glob("*.json")):
        made[f"pages/{path.stem}"] = lambda path=path: _text(path)
    return made


def slow_goldens() -> dict[str, Callable[[], str]]:
    """A golden of the drawn page of each kept record, and for each result of an example."""
    made: dict[str, Callable[[], str]] = {"pages-html/joined": _joined}
    for path in sorted(RECORDS.glob("*.json")):
        made[f"pages-html/{path.stem}"] = lambda path=path: _drawn(path)
    for path in sorted((ROOT / "examples").glob("*/results/**/*.json")):
        name = path.relative_to(ROOT / "examples").with_suffix("").as_posix()
        made[f"pages-examples/{name.replace('/results', '')}"] = lambda path=path: _example(path)
    return made


def _example(path: Path) -> str:
    try:
        return _text(path, _LONG_EXAMPLE)
    except UserError as error:  # no results with a page
        return normalise(f"{error}\n", ROOT)
