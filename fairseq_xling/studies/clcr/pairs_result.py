"""The results of `ablate clcr-pairs`: distance, pivots, accuracy and time by sentence pairs."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import paired_verdict
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.pairs_config import ClcrPairsConfig
from fairseq_xling.studies.clcr.task_figures import (
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
from fairseq_xling.studies.clcr.task_steps import Part

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
SOURCE = "CLCR, Appendix C"


def write_pairs(
    run: Path,
    config: ClcrPairsConfig,
    pair: tuple[str, str],
    parts: Sequence[Part],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
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
        notes = caption(result, SOURCE, seeds_in_words(seeds, "bands"))
        return Page(
            title=f"CLCR by the number of sentence pairs, {first} and {second}",
            source=SOURCE,
            lead=["The same training on nested subsets of the sentence pairs."],
            sections=[
                Section(
                    "Table", header=header, rows=rows, notes=_notes(record, result), name="table"
                ),
                Section("By size", figure=partial(draw, _panels(record)), notes=notes, name="plot"),
            ],
            tables={"table": (LONG, list(_long(record)))},
            measured=[
                Measured("C17", f"{name}, {pairs[-1]} pairs", column[-1].mean)
                for name, column in columns.items()
                if column[-1] is not None
            ],
        )


def _panels(record: Record) -> list[Panel]:
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


LONG = ["pairs", "seed", "figure", "value"]


def _long(record: Record) -> Iterator[list[Any]]:
    """Every number, unrounded."""
    for one in record["sizes"]:
        for row in long_rows(one):
            yield [one["pairs"], *row]


def _notes(record: Record, result: Result) -> list[str]:
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
