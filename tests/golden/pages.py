"""Goldens of the pages of results: Markdown, CSV, JSON lines and HTML of kept records.

Records are `records/*.json`, one of each verb and study, and those that the examples keep.
"""

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_xling.reports.page import every_number, parts, scores, write_page
from fairseq_xling.reports.record import Record, joined, read_record
from fairseq_xling.reports.tables import csv_text, markdown_table
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


def _page(record: Record, long: int = _LONG) -> Iterator[str]:
    yield from ("== page", record.title, record.source, *record.lead)
    for part in parts(record):
        section = part.section
        yield f"== section {section.title} {section.name}".rstrip()
        yield from filter(None, (section.text, *part.notes))
        if section.code:
            yield f"code: {digest(section.code)}"
        if section.chart:
            yield f"figure: {section.chart.kind}"
        if section.table:
            yield from short(markdown_table(*part.shown).splitlines(), long)
    yield "== csv"
    yield from short(csv_text(*every_number(record)).splitlines(), long)
    yield "== lines"
    made = [{**one, "provenance": "as recorded"} for one in scores(record)]
    yield from short([json.dumps(one, ensure_ascii=False) for one in made], long)


def _html(record: Record) -> Iterator[str]:
    """Digests of the page: of its figures and files, its markup, and what a reader sees."""
    yield "== html"
    path = scratch() / "page.html"
    write_page(path, record)
    text = path.read_text(encoding="utf-8")
    yield f"figures: {[digest(svg) for svg in _SVG.findall(text)]}"
    yield f"files: {[digest(link) for link in _DATA.findall(text)]}"
    bare = _DATA.sub("href", _SVG.sub("<svg/>", text))
    yield f"markup: {digest(re.sub('>[^<]*<', '><', bare))}"
    seen = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", "\n", bare, flags=re.S))
    words = " ".join(normalise(seen, ROOT).split())
    yield f"words: {digest(words)}"


def _text(path: Path, long: int = _LONG) -> str:
    return normalise("\n".join(_page(read_record(path), long)) + "\n", ROOT)


def _drawn(path: Path) -> str:
    return normalise("\n".join(_html(read_record(path))) + "\n", ROOT)


def _joined() -> str:
    """Pages that several of the examples' records of one measure share."""
    paths = sorted((ROOT / "examples").glob("*/results/measures/*.json"))
    records = {f"{path.parts[-4]}-{path.stem}": read_record(path) for path in paths}
    lines: list[str] = []
    for name, record in joined(records).items():
        if name not in records:
            lines += [f"== joined {name}", *_page(record), *_html(record)]
    return normalise("\n".join(lines) + "\n", ROOT)


def goldens() -> dict[str, Callable[[], str]]:
    """A golden for each kept record."""
    made: dict[str, Callable[[], str]] = {}
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
        made[f"pages-examples/{name.replace('/results', '')}"] = lambda path=path: _text(
            path, _LONG_EXAMPLE
        )
    return made
