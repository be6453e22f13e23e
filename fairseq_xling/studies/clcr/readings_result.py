"""The results of `ablate clcr-readings`: a row for each reading, compared with the defaults."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.plots import BarPanel, draw_bars, over_seeds
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.readings_config import ClcrReadingsConfig, Reading
from fairseq_xling.studies.clcr.task_figures import (
    HARD,
    MODULES,
    RELATIVE,
    Record,
    by_seed,
    chance_in_words,
    columns_of,
    difference_in_words,
    differences,
    long_rows,
    models_of,
    read_parts,
)
from fairseq_xling.studies.clcr.task_steps import Part

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
SOURCE = "CLCR, Sections 3.1 to 3.3"
# Of the tables of key-points and orders: their column, that of the page, and its unit.
KEYPOINTS = (("accuracy", "E, {} (%)", 100.0, 1), ("entropy", "entropy of E, {} (bits)", 1.0, 3))
ORDERS = (("BLEU-2", "order BLEU-2", 1.0, 3),)


def write_readings(
    run: Path,
    config: ClcrReadingsConfig,
    pair: tuple[str, str],
    readings: Sequence[Reading],
    parts: Sequence[Part],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    found, tests = read_parts(parts, pair, lambda one: {"tables": _tables(one, config)})
    for reading, one in zip(readings, found, strict=True):
        one |= {"name": reading.name, "title": reading.title, "changes": dict(reading.changes)}
    record = {"config": dataclasses.asdict(config), "pair": list(pair), "readings": found, **tests}
    write_results(ClcrReadingsKind, run, record, models_of(parts), steps)


def _tables(found: Record, config: ClcrReadingsConfig) -> dict[str, float]:
    """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the first
    head, of the first language that has one, and the widest search."""
    figures = {}
    if "keypoints" in found:
        for row in _rows(found["keypoints"]):
            if row["delta"] == config.delta:
                for column, name, scale, _ in KEYPOINTS:
                    figures[name.format(row["language"])] = scale * row[column]
    if "order" in found:
        rows = [row for row in _rows(found["order"]) if row["search"]]  # not of the source's order
        own = [row for row in rows if row["order"].split()[0] == config.order_list[0]]
        last = [row for row in own if row["order"] == own[0]["order"]][-1]
        figures |= {name: scale * last[column] for column, name, scale, _ in ORDERS}
    return figures


def _rows(table: Record) -> list[dict[str, Any]]:
    return [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]


@KINDS.register("clcr-readings")
class ClcrReadingsKind(Kind):
    """The table, and bars for the figures that a reading may change."""

    name = "clcr-readings"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        columns = _columns(record)
        names = [one["name"] for one in record["readings"]]
        rows = [[name, *(cells[i] for cells in columns.values())] for i, name in enumerate(names)]
        first, second = record["pair"]
        return Page(
            title=f"Readings of what CLCR leaves open, {first} and {second}",
            source=SOURCE,
            lead=["The same training, with one point read in another way."],
            sections=[
                Section(
                    "Table",
                    header=["reading", *columns],
                    rows=rows,
                    notes=_notes(record, result),
                    name="table",
                ),
                Section(
                    "By reading",
                    figure=partial(draw_bars, _panels(names, columns)),
                    notes=caption(result, SOURCE, seeds_in_words(seeds, "whiskers")),
                    name="plot",
                ),
            ],
            tables={"table": (["reading", "seed", "figure", "value"], list(_long(record)))},
            measured=[
                Measured(code, f"{name}, {reading}", cell.mean)
                for name, cells in columns.items()
                if (code := _code(name))
                for reading, cell in zip(names, cells, strict=True)
                if cell is not None
            ],
        )


def _code(column: str) -> str:
    """The row of the specification that a column measures, if any."""
    named = {RELATIVE: "C4", "E, ": "C10", ORDERS[0][1]: "C13", "T, ": "C15", "T+": "C15"}
    return next((code for name, code in named.items() if column.startswith(name)), "")


def _columns(record: Record) -> dict[str, list[OverSeeds | None]]:
    """The columns of the table: a cell for each reading, over seeds."""
    parts = record["readings"]
    found = columns_of(parts, record)
    seconds = {f"{module} (s)": found.pop(f"{module} (s)", None) for module in MODULES}
    digits = {}
    for lang in record["pair"]:
        digits |= {name.format(lang): n for _, name, _, n in KEYPOINTS}
    digits |= {name: n for _, name, _, n in ORDERS}
    for name, places in digits.items():
        cells = [
            OverSeeds.of([s["tables"][name] for s in one["seeds"] if name in s["tables"]], places)
            for one in parts
        ]
        if any(cells):
            found[name] = cells
    return found | {name: cells for name, cells in seconds.items() if cells}


def _panels(names: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> list[BarPanel]:
    """A panel for every column but the times."""
    return [
        BarPanel(names, [over_seeds(title, cells)], title)
        for title, cells in columns.items()
        if not title.endswith("(s)")
    ]


def _long(record: Record) -> Iterator[list[Any]]:
    """Every number, unrounded."""
    for one in record["readings"]:
        for row in long_rows(one):
            yield [one["name"], *row]
        for seed in one["seeds"]:
            for name, value in seed["tables"].items():
                yield [one["name"], seed["seed"], name, value]


def _notes(record: Record, result: Result) -> list[str]:
    config = record["config"]
    seeds = f"seeds {config['seeds']}" if "," in config["seeds"] else f"seed {config['seeds']}"
    found = [f"{one['name']}: {one['title']}." for one in record["readings"]]
    found += [
        f"Mean ± standard deviation over {seeds}; a reading shares with the defaults what is "
        "trained before it differs.",
        "D is that of validation text, the mean of both directions; relative: divided by the "
        "spread of the target's states, chance 1. E is the accuracy of key-points against "
        f"pseudo-gold pivots of validation text, where words with p above {config['delta']} are "
        "kept; entropy: the mean of p's, 1 is chance. BLEU-2: precision of pairs of words in the "
        "found order, of the language that is reordered.",
    ]
    if "tests" in record:
        found.append(
            f"Accuracy of T, T+E and T+E+R is zero-shot: a classifier trained on "
            f"{record['source']}, tested on other languages{chance_in_words(record)}"
        )
    return [*found, *_differences(record), f"{result.machine}."]


def _differences(record: Record) -> Iterator[str]:
    """What each reading changes against the defaults, by seed."""
    defaults, *others = record["readings"]
    before = _figures(defaults, record)
    for one in others:
        parts = [
            difference_in_words(name, sides)
            for name, sides in differences(_figures(one, record), before).items()
            if sides[0] != sides[1]  # else shared, or not moved
        ]
        if parts:
            yield f"{one['name']} against the defaults: {'; '.join(parts)}."


def _figures(part: Record, record: Record) -> dict[str, dict[int, float]]:
    """Hard D, those of `by_seed`, and the accuracy of key-points."""
    hard = {seed["seed"]: seed["hard"] for seed in part["seeds"] if seed["hard"] is not None}
    found = {HARD: hard, **by_seed(part, record)}
    for seed in part["seeds"]:
        for name, value in seed["tables"].items():
            if name.endswith("(%)"):
                found.setdefault(name.removesuffix(" (%)"), {})[seed["seed"]] = value
    return found
