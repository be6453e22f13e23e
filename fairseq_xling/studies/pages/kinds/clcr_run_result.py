"""`fairseq-xling clcr run`: distances, key-points and orders over seeds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.runs.plots import draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS, make_page
from fairseq_xling.runs.statistics import mean_and_spread
from fairseq_xling.studies.pages.clcr_together import JOINS, join_clcr
from fairseq_xling.studies.pages.studies import column_bars, parse_cell

_SOURCES = {
    "distances": "CLCR, Table 1",
    "keypoints": "CLCR, Table 2",
    "order": "CLCR, Table 3",
}
_DRAWN = ("distance", "relative", "accuracy", "precision", "recall", "BLEU")
_COUNTS = ("key-points", "tokens", "sentences/s")


@KINDS.register("clcr-run")
class ClcrRun:
    """A table and bars for each of the paper's tables 1 to 3; with other results of CLCR, a page of
    all."""

    joins = JOINS

    def recognises(self, record: Mapping[str, Any]) -> bool:
        seeds = record.get("seeds")
        return "pair" in record and isinstance(seeds, list) and "distances" in str(seeds[:1])

    def join(self, results: Sequence[Result]) -> list[tuple[Result, Page]]:
        return join_clcr(results, make_page)

    def page(self, result: Result) -> Page:
        record = result.record
        first, second = record["pair"]
        words = seeds_in_words([one["seed"] for one in record["seeds"]])
        sections, tables = [], {}
        for name, source in _SOURCES.items():
            if name not in record["seeds"][0]:
                continue
            title, header, rows = table(record["seeds"], name)
            tables[name] = long_table(record["seeds"], name)
            drawn = [column for column in header[1:] if column.startswith(_DRAWN)]
            svg = to_svg(draw_bars(column_bars([row[0] for row in rows], header, rows, drawn)))
            notes = caption(result, source, words)
            sections.append(Section(title, svg=svg, header=header, rows=rows, notes=notes))
        return Page(
            title=f"CLCR, {first} and {second}",
            source="CLCR, Tables 1 to 3",
            lead=[
                f"States of {first} are mapped to those of {second}. relative: D divided by the "
                f"spread of "
                "the target's states, 1 at chance level. Shares are in [0, 1]."
            ],
            sections=sections,
            tables=tables,
            measured=list(_measured(record["seeds"])),
        )


def table(seeds: Sequence[Mapping[str, Any]], name: str) -> tuple[str, list[str], list[list[Any]]]:
    """Title, header, and means over seeds with deviations; None if no seed has a figure."""
    title, header, _, keys = _columns(seeds[0], name)
    groups: dict[str, list[Sequence[Any]]] = {}
    for one in seeds:
        for row in _columns(one, name)[2]:
            group = " ".join(str(part) for part in row[:keys] if part != "")
            groups.setdefault(group, []).append(row)
    rows: list[list[Any]] = []
    for group, own in groups.items():
        cells: list[Any] = []
        for place, column in enumerate(header[keys:], start=keys):
            values = [row[place] for row in own]
            there = [value for value in values if value is not None and not math.isnan(value)]
            digits = 0 if column in _COUNTS else 3
            cells.append(mean_and_spread(there, digits) if there else None)
        rows.append([group, *cells])
    return title, [", ".join(header[:keys]), *header[keys:]], rows


def long_table(seeds: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Every number, unrounded."""
    rows = [[one["seed"], *row] for one in seeds for row in _columns(one, name)[2]]
    return ["seed", *_columns(seeds[0], name)[1]], rows


def _columns(one: Mapping[str, Any], name: str) -> tuple[str, list[str], list[Sequence[Any]], int]:
    """Title, header and rows of a seed's table, and how many columns name a row."""
    found = one[name]
    if name == "distances":
        # JSON files sort their keys.
        names = ["phase", *(column for column in found[0] if column != "phase")]
        rows = [[row[column] for column in names] for row in found]
        return "Distance of translations", [name.replace("_", " ") for name in names], rows, 1
    return found["title"], list(found["header"]), list(found["rows"]), 2


def _measured(seeds: Sequence[Mapping[str, Any]]) -> Iterator[Measured]:
    """Distances after the last phase, accuracy of key-points, and the best order BLEU-2."""
    _, header, rows = table(seeds, "distances")
    for column, cell in zip(header, rows[-1], strict=True):
        if column.startswith("distance") and (found := parse_cell(cell)):
            yield Measured("C4", f"{column}, after {rows[-1][0]}", found[0])
    for name, code, column in (("keypoints", "C10", "accuracy"), ("order", "C13", "BLEU-2")):
        if name not in seeds[0]:
            continue
        _, header, rows = table(seeds, name)
        for row in rows:
            if found := parse_cell(row[header.index(column)]):
                yield Measured(code, f"{column}, {row[0]}", found[0])
