"""The results of `ablate clcr-pairs`: distance, pivots, accuracy and time by sentence pairs."""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_json
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import in_words, paired_difference, paired_verdict
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.classify_result import lines_of_rows
from fairseq_xling.studies.clcr.pairs_config import ClcrPairsConfig
from fairseq_xling.studies.clcr.result import read_outcome
from fairseq_xling.studies.clcr.run import Outcome
from fairseq_xling.studies.trelm.cost import read_cost
from fairseq_xling.verbs.parts.probe_result import shown

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
SOURCE = "CLCR, Appendix C"
# Trainings by what their names begin with.
MODULES = {"T": ("transform", "lm"), "E": ("extract",), "R": ("order",)}
HARD, RELATIVE, F1 = "hard D", "relative D", "pivot F1 (%)"
DISTANCE = "relative D (lower is better)"
Record = Mapping[str, Any]


@dataclasses.dataclass
class SizeOutcome:
    """The files of one number of sentence pairs: of each seed, and the classifier's folder."""

    size: int
    outcomes: list[Outcome]
    classified: Path | None = None


def write_pairs(
    run: Path,
    config: ClcrPairsConfig,
    pair: tuple[str, str],
    outcomes: Sequence[SizeOutcome],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    sizes, tests, files = [], {}, {}
    for one in outcomes:
        found: dict[str, Any] = {
            "pairs": one.size,
            "seeds": [_seed(outcome, pair) for outcome in one.outcomes],
        }
        for outcome in one.outcomes:
            files[f"model, {one.size} pairs, seed {outcome.seed}"] = outcome.model
        if one.classified is not None:
            classified = read_json(one.classified / RESULTS)
            found["classified"] = classified["classified"]
            tests = {
                "source": classified["source"],
                "tests": classified["tests"],
                "majority": classified["majority"],
            }
        sizes.append(found)
    record = {"config": dataclasses.asdict(config), "pair": list(pair), "sizes": sizes, **tests}
    write_results(ClcrPairs, run, record, files, steps)


def _seed(outcome: Outcome, pair: tuple[str, str]) -> dict[str, Any]:
    """Means of both directions after the last phase, F1 of tuned pivots, and seconds."""
    found = read_outcome(outcome, pair)
    last, (a, b) = found["distances"][-1], pair

    def both(kind: str) -> float | None:
        values = [last[f"{kind}_{way}"] for way in (f"{a}_{b}", f"{b}_{a}")]
        return None if None in values else statistics.fmean(values)

    seconds: dict[str, float] = {}
    for name, log in outcome.logs.items():
        module = next(m for m, begins in MODULES.items() if name.startswith(begins))
        seconds[module] = seconds.get(module, 0.0) + read_cost(name, log).seconds
    return {
        **{"seed": outcome.seed, "hard": both("hard"), "relative": both("relative")},
        **{"f1": (found["tuned"] or {}).get("f1"), "pivots": found["pivots"]["pivots"]},
        "seconds": seconds,
    }


@KINDS.register("clcr-pairs")
class ClcrPairs(Kind):
    """The table, and a curve for each of its figures."""

    name = "clcr-pairs"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        columns = cells(record)
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


def cells(record: Record) -> dict[str, list[OverSeeds | None]]:
    """The columns of the table: a cell for each size, over seeds."""
    sizes = record["sizes"]

    def column(values: Any, digits: int) -> list[OverSeeds | None]:
        found = [[values(seed) for seed in one["seeds"]] for one in sizes]
        return [OverSeeds.of([x for x in many if x is not None], digits) for many in found]

    found = {
        HARD: column(lambda seed: seed["hard"], 3),
        RELATIVE: column(lambda seed: seed["relative"], 3),
        F1: column(lambda seed: seed["f1"] and 100 * seed["f1"], 1),
    }
    for name, values in accuracies(record).items():
        found[name] = [OverSeeds.of(many, 1) for many in values]
    for module in MODULES:
        found[f"{module} (s)"] = column(lambda seed, m=module: seed["seconds"].get(m), 0)
    return {name: column for name, column in found.items() if any(column)}


def accuracies(record: Record) -> dict[str, list[Sequence[float]]]:
    """Zero-shot accuracy in percent of every row and test file: for each size, of each seed."""
    found: dict[str, list[Sequence[float]]] = {}
    tests = dict(record.get("tests", ()))
    for file, lang in tests.items():
        if lang == record["source"]:
            continue
        called = shown(tests, file)
        for one in record["sizes"]:
            for line in lines_of_rows(one["classified"]):
                if file in line.values:
                    found.setdefault(f"{line.name}, {called} (%)", []).append(line.values[file])
    return found


def _panels(record: Record) -> list[Panel]:
    """Distances, pivots, accuracies, seconds: those that were measured."""
    pairs, columns = [one["pairs"] for one in record["sizes"]], cells(record)
    zero_shot = list(accuracies(record))
    panels = [
        ("D / spread of the target's states", {RELATIVE: RELATIVE}, (1.0, "chance")),
        ("F1 (%)", {F1: "pivots"}, None),
        ("accuracy (%)", {name: name.removesuffix(" (%)") for name in zero_shot}, _chance(record)),
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


def _chance(record: Record) -> tuple[float, str] | None:
    """The accuracy of the most frequent label, the mean over the test files of other languages."""
    majority = record.get("majority")
    if majority is None:
        return None
    others = [file for file, lang in record["tests"] if lang != record["source"]]
    known = [majority["accuracy"][file] for file in others if file in majority["accuracy"]]
    return (statistics.fmean(known), f"always {majority['label']}") if known else None


LONG = ["pairs", "seed", "figure", "value"]


def _long(record: Record) -> Iterator[list[Any]]:
    """Every number, unrounded."""
    for one in record["sizes"]:
        for seed in one["seeds"]:
            numbers = {name: seed[name] for name in ("hard", "relative", "f1", "pivots")}
            numbers |= {f"seconds of {m}": seconds for m, seconds in seed["seconds"].items()}
            for name, value in numbers.items():
                if value is not None:
                    yield [one["pairs"], seed["seed"], name, value]
        for trained in one.get("classified", ()):
            for file, value in trained["accuracy"].items():
                name = f"accuracy, {trained['row']}, {file}"
                yield [one["pairs"], trained["seed"], name, value]


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
        majority, chance = record["majority"], _chance(record)
        found.append(
            f"Accuracy is zero-shot: a classifier trained on {record['source']}, tested on other "
            "languages" + (f"; always {majority['label']}: {chance[0]:.1f}." if chance else ".")
        )
    return [*found, *_gains(record), f"{result.machine}."]


def _gains(record: Record) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed, and what the paper says of the last
    figure, which is of the most modules."""
    fewest, most = record["sizes"][0], record["sizes"][-1]
    before, sides = _by_seed(record, fewest), {}
    for name, after in _by_seed(record, most).items():
        seeds = sorted(after.keys() & before.get(name, {}).keys())
        if fewest is not most and seeds:
            sides[name] = [[values[seed] for seed in seeds] for values in (after, before[name])]
    if not sides:
        return
    gains = []
    for name, values in sides.items():
        unit, digits = ("of the spread", 3) if name == DISTANCE else ("points", 1)
        gains.append(f"{name} {in_words(paired_difference(*values), unit, digits)}")
    yield f"From {fewest['pairs']:,} to {most['pairs']:,} pairs: {'; '.join(gains)}."
    *_, last = sides
    if last != DISTANCE:
        yield paired_verdict(
            "More sentence pairs give no gain (Appendix C, where there were 250,000).",
            *reversed(sides[last]),
            f"points of {last}, {fewest['pairs']:,} pairs minus {most['pairs']:,}",
        )


def _by_seed(record: Record, size: Record) -> dict[str, dict[int, float]]:
    """Figures of one size that the next one may better, by seed; those that were measured."""
    found: dict[str, dict[int, float]] = {}
    for seed in size["seeds"]:
        for name, value in ((DISTANCE, seed["relative"]), ("pivot F1", seed["f1"])):
            if value is not None:
                scale = 1 if name == DISTANCE else 100
                found.setdefault(name, {})[seed["seed"]] = scale * value
    tests = dict(record.get("tests", ()))
    for trained in size.get("classified", ()):
        for file, lang in tests.items():
            if lang != record["source"] and file in trained["accuracy"]:
                name = f"{trained['row']}, {shown(tests, file)}"
                found.setdefault(name, {})[trained["seed"]] = trained["accuracy"][file]
    return found
