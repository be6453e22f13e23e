"""The results of `ablate clcr-pairs` and `ablate clcr-readings`: a row for each size or reading."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.papers.clcr.ablations_figures import (
    DISTANCE,
    F1,
    HARD,
    MODULES,
    RELATIVE,
    Record,
    accuracies,
    by_seed,
    chance_in_words,
    chance_of,
    columns_of,
    difference_in_words,
    differences,
    long_rows,
    models_of,
    read_parts,
)
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import paired_verdict
from fairseq_xling.results.plots import BarPanel, draw_bars, over_seeds
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.ablations import Part

PAIRS_SOURCE = "CLCR, Appendix C"


def write_pairs(
    run: Path,
    config: Any,
    pair: tuple[str, str],
    parts: Sequence["Part"],
    steps: Sequence[Step],
) -> None:
    """Write the results of all parts into ``run``, and what their page shows."""
    found, tests = read_parts(parts, pair)
    sizes = [{"pairs": size, **one} for size, one in zip(config.size_list, found, strict=True)]
    record = {"config": dataclasses.asdict(config), "pair": list(pair), "sizes": sizes, **tests}
    write_results(ClcrPairs, run, record, models_of(parts), steps)


@KINDS.register("clcr-pairs")
class ClcrPairs(Kind):
    """The table, and a curve for each of its figures."""

    name = "clcr-pairs"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        columns = columns_of(record["sizes"], record)
        pairs = [one["pairs"] for one in record["sizes"]]
        header = ["pairs", *columns]
        rows = [[n, *(column[i] for column in columns.values())] for i, n in enumerate(pairs)]
        first, second = record["pair"]
        notes = caption(result, PAIRS_SOURCE, seeds_in_words(seeds, "bands"))
        return Page(
            title=f"CLCR by the number of sentence pairs, {first} and {second}",
            source=PAIRS_SOURCE,
            lead=["The same training on nested subsets of the sentence pairs."],
            sections=[
                Section(
                    "Table",
                    header=header,
                    rows=rows,
                    notes=_size_notes(record, result),
                    name="table",
                ),
                Section(
                    "By size",
                    figure=partial(draw, _curves(record)),
                    notes=notes,
                    name="plot",
                ),
            ],
            tables={"table": (_PAIRS_LONG, list(_pairs_long(record)))},
            measured=[
                Measured("C17", f"{name}, {pairs[-1]} pairs", column[-1].mean)
                for name, column in columns.items()
                if column[-1] is not None
            ],
        )


def _curves(record: Record) -> list[Panel]:
    """Distances, pivots, accuracies, seconds: those that were measured."""
    sizes = record["sizes"]
    pairs, columns = [one["pairs"] for one in sizes], columns_of(sizes, record)
    zero_shot = list(accuracies(sizes, record))
    panels = [
        ("D / spread of the target's states", {RELATIVE: RELATIVE}, (1.0, "chance")),
        ("F1 (%)", {F1: "pivots"}, None),
        (
            "accuracy (%)",
            {name: name.removesuffix(" (%)") for name in zero_shot},
            chance_of(record),
        ),
        ("seconds of training", {f"{module} (s)": module for module in MODULES}, None),
    ]
    if HARD in columns:
        panels.insert(0, ("hard D", {HARD: "best partner alone"}, None))
    made = []
    for ylabel, names, chance in panels:
        lines = []
        for style, (name, label) in enumerate(names.items()):
            drawn = [(x, y) for x, y in zip(pairs, columns.get(name, ()), strict=False) if y]
            if drawn:
                x, y = zip(*drawn, strict=True)
                spread = [cell.spread or 0.0 for cell in y]
                lines.append(Line(label, x, [cell.mean for cell in y], style, spread=spread))
        if lines:
            made.append(Panel(lines, "sentence pairs", ylabel, chance=chance, log_x=True))
    return made


_PAIRS_LONG = ["pairs", "seed", "figure", "value"]
_READINGS_LONG = ["reading", "seed", "figure", "value"]


def _pairs_long(record: Record) -> Iterator[list[Any]]:
    """Every number, unrounded."""
    for one in record["sizes"]:
        for row in long_rows(one):
            yield [one["pairs"], *row]


def _size_notes(record: Record, result: Result) -> list[str]:
    config = record["config"]
    many = "," in config["seeds"]
    found = [
        f"{'Mean ± standard deviation over seeds' if many else 'Seed'} {config['seeds']}. Subsets "
        "are nested; encoders, and the text to validate on, are the same in every row.",
        "D is that of validation text, the mean of both directions; hard: to each word's best "
        "partner alone; relative: divided by the spread of the target's states, chance 1.",
        "Seconds are the wall time of the trainings; T with its phases of the encoders.",
    ]
    if not config["threshold"]:
        found.insert(
            2,
            f"F1 of pseudo-gold pivots against the word alignment of {config['tune_on']}, on which "
            "their threshold was tuned.",
        )
    if "tests" in record:
        found.append(
            f"Accuracy is zero-shot: a classifier trained on {record['source']}, tested on other "
            f"languages{chance_in_words(record)}"
        )
    return [*found, *_gains(record), f"{result.machine}."]


def _gains(record: Record) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed, and what the paper says of the last
    figure, which is of the most modules."""
    fewest, most = record["sizes"][0], record["sizes"][-1]
    sides = differences(by_seed(most, record), by_seed(fewest, record))
    if fewest is most or not sides:
        return
    gains = [difference_in_words(name, both) for name, both in sides.items()]
    yield f"From {fewest['pairs']:,} to {most['pairs']:,} pairs: {'; '.join(gains)}."
    *_, last = sides
    if last != DISTANCE:
        yield paired_verdict(
            "More sentence pairs give no gain (Appendix C, where there were 250,000).",
            *reversed(sides[last]),
            f"points of {last}, {fewest['pairs']:,} pairs minus {most['pairs']:,}",
        )


READINGS_SOURCE = "CLCR, Sections 3.1 to 3.3"
# Of the tables of key-points and orders: their column, that of the page, and its unit.
KEYPOINTS = (("accuracy", "E, {} (%)", 100.0, 1), ("entropy", "entropy of E, {} (bits)", 1.0, 3))
ORDERS = (("BLEU-2", "order BLEU-2", 1.0, 3),)


def write_readings(
    run: Path,
    config: Any,
    pair: tuple[str, str],
    readings: Sequence[Any],
    parts: Sequence["Part"],
    steps: Sequence[Step],
) -> None:
    """Write the results of all parts into ``run``, and what their page shows."""
    found, tests = read_parts(parts, pair, lambda one: {"tables": reading_tables(one, config)})
    for reading, one in zip(readings, found, strict=True):
        one |= {"name": reading.name, "title": reading.title, "changes": dict(reading.changes)}
    record = {"config": dataclasses.asdict(config), "pair": list(pair), "readings": found, **tests}
    write_results(ClcrReadingsKind, run, record, models_of(parts), steps)


def reading_tables(found: Record, config: Any) -> dict[str, float]:
    """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the first
    head, of the first language that has one, and the widest search."""
    figures = {}
    if "keypoints" in found:
        for row in _named_rows(found["keypoints"]):
            if row["delta"] == config.delta:
                for column, name, scale, _ in KEYPOINTS:
                    figures[name.format(row["language"])] = scale * row[column]
    if "order" in found:
        rows = [row for row in _named_rows(found["order"]) if row["search"]]  # not the source's
        own = [row for row in rows if row["order"].split()[0] == config.order_list[0]]
        last = [row for row in own if row["order"] == own[0]["order"]][-1]
        figures |= {name: scale * last[column] for column, name, scale, _ in ORDERS}
    return figures


def _named_rows(table: Record) -> list[dict[str, Any]]:
    return [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]


@KINDS.register("clcr-readings")
class ClcrReadingsKind(Kind):
    """The table, and bars for the figures that a reading may change."""

    name = "clcr-readings"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        columns = _reading_columns(record)
        names = [one["name"] for one in record["readings"]]
        rows = [[name, *(cells[i] for cells in columns.values())] for i, name in enumerate(names)]
        first, second = record["pair"]
        return Page(
            title=f"Readings of what CLCR leaves open, {first} and {second}",
            source=READINGS_SOURCE,
            lead=["The same training, with one point read in another way."],
            sections=[
                Section(
                    "Table",
                    header=["reading", *columns],
                    rows=rows,
                    notes=_readings_notes(record, result),
                    name="table",
                ),
                Section(
                    "By reading",
                    figure=partial(draw_bars, _bars_by_reading(names, columns)),
                    notes=caption(result, READINGS_SOURCE, seeds_in_words(seeds, "whiskers")),
                    name="plot",
                ),
            ],
            tables={"table": (_READINGS_LONG, list(_readings_long(record)))},
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


def _reading_columns(record: Record) -> dict[str, list[OverSeeds | None]]:
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


def _bars_by_reading(names: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> list[BarPanel]:
    """A panel for every column but the times."""
    return [
        BarPanel(names, [over_seeds(title, cells)], title)
        for title, cells in columns.items()
        if not title.endswith("(s)")
    ]


def _readings_long(record: Record) -> Iterator[list[Any]]:
    """Every number, unrounded."""
    for one in record["readings"]:
        for row in long_rows(one):
            yield [one["name"], *row]
        for seed in one["seeds"]:
            for name, value in seed["tables"].items():
                yield [one["name"], seed["seed"], name, value]


def _readings_notes(record: Record, result: Result) -> list[str]:
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
    before = _reading_figures(defaults, record)
    for one in others:
        parts = [
            difference_in_words(name, sides)
            for name, sides in differences(_reading_figures(one, record), before).items()
            if sides[0] != sides[1]  # else shared, or not moved
        ]
        if parts:
            yield f"{one['name']} against the defaults: {'; '.join(parts)}."


def _reading_figures(part: Record, record: Record) -> dict[str, dict[int, float]]:
    """Hard D, those of `by_seed`, and the accuracy of key-points."""
    hard = {seed["seed"]: seed["hard"] for seed in part["seeds"] if seed["hard"] is not None}
    found = {HARD: hard, **by_seed(part, record)}
    for seed in part["seeds"]:
        for name, value in seed["tables"].items():
            if name.endswith("(%)"):
                found.setdefault(name.removesuffix(" (%)"), {})[seed["seed"]] = value
    return found
