"""The figures of a study of CLCR: distance, pivots, accuracy and time of each of its parts."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.files import read_json
from fairseq_xling.papers.clcr.classify_result import lines_of_rows
from fairseq_xling.papers.clcr.run_result import read_artifacts
from fairseq_xling.papers.trelm.results import read_cost
from fairseq_xling.results.page import RESULTS
from fairseq_xling.results.paired import in_words, paired_difference
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.verbs.parts.probe_result import shown

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.ablations import Part
    from fairseq_xling.papers.clcr.plan import Artifacts

# Trainings by what their names begin with.
MODULES = {"T": ("transform", "lm"), "E": ("extract",), "R": ("order",)}
HARD, RELATIVE, F1 = "hard D", "relative D", "pivot F1 (%)"
DISTANCE = "relative D (lower is better)"
_UNITS = {HARD: ("of distance", 3), DISTANCE: ("of the spread", 3)}  # of differences
Record = Mapping[str, Any]


def read_parts(
    parts: Sequence["Part"],
    pair: tuple[str, str],
    more: Callable[[Record], dict[str, Any]] = lambda found: {},
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What was found of each part, and what all were tested on (nothing without a task).

    Args:
        more: further entries of a seed, from what `read_artifacts` says of it.
    """
    found, tests = [], {}
    for part in parts:
        seeds = [_seed(artifacts, pair, more) for artifacts in part.artifacts]
        one: dict[str, Any] = {"seeds": seeds}
        if part.classified is not None:
            classified = read_json(part.classified / RESULTS)
            one["classified"] = classified["classified"]
            tests = {name: classified[name] for name in ("source", "tests", "majority")}
        found.append(one)
    return found, tests


def models_of(parts: Sequence["Part"]) -> dict[str, Path]:
    """The last checkpoint of each seed of each part, by its name in a record."""
    return {
        f"model, {part.name}, seed {one.seed}": one.model
        for part in parts
        for one in part.artifacts
    }


def _seed(
    artifacts: "Artifacts", pair: tuple[str, str], more: Callable[[Record], dict[str, Any]]
) -> dict[str, Any]:
    """Means of both directions after the last phase, F1 of tuned pivots, and seconds."""
    found = read_artifacts(artifacts, pair)
    last, (a, b) = found["distances"][-1], pair

    def both(kind: str) -> float | None:
        values = [last[f"{kind}_{way}"] for way in (f"{a}_{b}", f"{b}_{a}")]
        return None if None in values else statistics.fmean(values)

    seconds: dict[str, float] = {}
    for name, log in artifacts.logs.items():
        module = next(m for m, begins in MODULES.items() if name.startswith(begins))
        seconds[module] = seconds.get(module, 0.0) + read_cost(name, log).seconds
    return {
        **{"seed": artifacts.seed, "hard": both("hard"), "relative": both("relative")},
        **{"f1": (found["tuned"] or {}).get("f1"), "pivots": found["pivots"]["pivots"]},
        "seconds": seconds,
        **more(found),
    }


def columns_of(parts: Sequence[Record], tested: Record) -> dict[str, list[OverSeeds | None]]:
    """The columns of a table: a cell for each part, over seeds.

    Args:
        parts: with ``seeds`` and, where there is a task, ``classified``.
        tested: the record that they are of, with ``source`` and ``tests`` if there is a task.
    """

    def column(values: Any, digits: int) -> list[OverSeeds | None]:
        found = [[values(seed) for seed in one["seeds"]] for one in parts]
        return [OverSeeds.of([x for x in many if x is not None], digits) for many in found]

    found = {
        HARD: column(lambda seed: seed["hard"], 3),
        RELATIVE: column(lambda seed: seed["relative"], 3),
        F1: column(lambda seed: seed["f1"] and 100 * seed["f1"], 1),
    }
    for name, values in accuracies(parts, tested).items():
        found[name] = [OverSeeds.of(many, 1) for many in values]
    for module in MODULES:
        found[f"{module} (s)"] = column(lambda seed, m=module: seed["seconds"].get(m), 0)
    return {name: column for name, column in found.items() if any(column)}


def accuracies(parts: Sequence[Record], tested: Record) -> dict[str, list[Sequence[float]]]:
    """Zero-shot accuracy in percent of every row and test file: for each part, of each seed."""
    found: dict[str, list[Sequence[float]]] = {}
    tests = dict(tested.get("tests", ()))
    for file, lang in tests.items():
        if lang == tested["source"]:
            continue
        called = shown(tests, file)
        for one in parts:
            for line in lines_of_rows(one["classified"]):
                if file in line.values:
                    found.setdefault(f"{line.name}, {called} (%)", []).append(line.values[file])
    return found


def chance_of(tested: Record) -> tuple[float, str] | None:
    """The accuracy of the most frequent label, the mean over the test files of other languages."""
    majority = tested.get("majority")
    if majority is None:
        return None
    others = [file for file, lang in tested["tests"] if lang != tested["source"]]
    known = [majority["accuracy"][file] for file in others if file in majority["accuracy"]]
    return (statistics.fmean(known), f"always {majority['label']}") if known else None


def by_seed(part: Record, tested: Record) -> dict[str, dict[int, float]]:
    """Figures of one part that another may better, by seed; those that were measured."""
    found: dict[str, dict[int, float]] = {}
    for seed in part["seeds"]:
        for name, value in ((DISTANCE, seed["relative"]), ("pivot F1", seed["f1"])):
            if value is not None:
                scale = 1 if name == DISTANCE else 100
                found.setdefault(name, {})[seed["seed"]] = scale * value
    tests = dict(tested.get("tests", ()))
    for trained in part.get("classified", ()):
        for file, lang in tests.items():
            if lang != tested["source"] and file in trained["accuracy"]:
                name = f"{trained['row']}, {shown(tests, file)}"
                found.setdefault(name, {})[trained["seed"]] = trained["accuracy"][file]
    return found


def differences(
    after: Mapping[str, Mapping[int, float]], before: Mapping[str, Mapping[int, float]]
) -> dict[str, tuple[list[float], list[float]]]:
    """Both sides of each figure that both have, by the seeds that both have."""
    sides = {}
    for name, values in after.items():
        seeds = sorted(values.keys() & before.get(name, {}).keys())
        if seeds:
            sides[name] = [values[x] for x in seeds], [before[name][x] for x in seeds]
    return sides


def difference_in_words(name: str, sides: tuple[list[float], list[float]]) -> str:
    """A figure's name, and the mean of its differences with their test."""
    unit, digits = _UNITS.get(name, ("points", 1))
    return f"{name} {in_words(paired_difference(*sides), unit, digits)}"


def chance_in_words(tested: Record) -> str:
    """What follows a sentence on accuracy: that of the most frequent label, if it is known."""
    chance = chance_of(tested)
    return f"; always {tested['majority']['label']}: {chance[0]:.1f}." if chance else "."


def long_rows(part: Record) -> Iterator[list[Any]]:
    """Every number of a part, unrounded: seed, figure, value."""
    for seed in part["seeds"]:
        numbers = {name: seed[name] for name in ("hard", "relative", "f1", "pivots")}
        numbers |= {f"seconds of {m}": seconds for m, seconds in seed["seconds"].items()}
        for name, value in numbers.items():
            if value is not None:
                yield [seed["seed"], name, value]
    for trained in part.get("classified", ()):
        for file, value in trained["accuracy"].items():
            yield [trained["seed"], f"accuracy, {trained['row']}, {file}", value]
