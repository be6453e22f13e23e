"""The table of a study: encoders down, languages across, mean and gap at the end."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairseq_xling.data.meta import in_order
from fairseq_xling.results.statistics import OverSeeds


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the table: by language, the figure of every seed.

    A seed's figure is its mean over the chosen settings. ``sources`` are the languages that were
    trained on, ``test_set`` the set that was tested on.
    """

    name: str
    sources: Sequence[str]
    values: Mapping[str, Sequence[float]]
    test_set: str = "test"

    @property
    def mean(self) -> float | None:
        """The mean over the languages that were not trained on; ``None`` without one."""
        return self._mean_of(lambda lang: lang not in self.sources)

    @property
    def gap(self) -> float | None:
        """How much better the languages are that were trained on."""
        trained, mean = self._mean_of(lambda lang: lang in self.sources), self.mean
        return None if trained is None or mean is None else trained - mean

    def _mean_of(self, chosen: Callable[[str], bool]) -> float | None:
        found = [statistics.fmean(values) for lang, values in self.values.items() if chosen(lang)]
        return statistics.fmean(found) if found else None


def has_targets(lines: Sequence[Line]) -> bool:
    """Whether any was tested on a language that it was not trained on."""
    return any(line.mean is not None for line in lines)


def table(lines: Sequence[Line], languages: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Means over seeds, with deviations; where there are target languages, the mean over them, and
    its gap to that of the languages trained on."""
    targets = has_targets(lines)
    header = ["encoder", *languages, *(["mean of targets", "gap"] if targets else [])]
    return header, [
        [
            line.name,
            *(OverSeeds.of(line.values.get(lang, ()), 1) for lang in languages),
            *(
                None if value is None else OverSeeds((value,), 1)
                for value in ((line.mean, line.gap) if targets else ())
            ),
        ]
        for line in lines
    ]


def lines_of(name: str, sources: Sequence[str], result: Mapping[str, Any]) -> list[Line]:
    """The lines for a row's results: one for each test set, and one more if states were also
    shifted."""
    metric = result["metric"]
    lines = _by_set(name, sources, _by_language(result["tests"], "scores", metric))
    if any("shifted" in test for test in result["tests"]):
        shifted = [
            {**test, "moved": {lang: one["scores"] for lang, one in test["shifted"].items()}}
            for test in result["tests"]
        ]
        lines += _by_set(f"{name}, shifted", sources, _by_language(shifted, "moved", metric))
    return lines


def _by_set(name: str, sources: Sequence[str], values: Mapping[str, Sequence[float]]) -> list[Line]:
    """A line for each test set in ``values``, which go by `Test.label`."""
    sets: dict[str, dict[str, Sequence[float]]] = {}
    for label, found in values.items():
        test_set, _, lang = label.rpartition(".")
        sets.setdefault(test_set or "test", {})[lang] = found
    return [
        Line(name if one == "test" else f"{name}, {one}", sources, sets.get(one, {}), one)
        for one in in_order(sets or ["test"])
    ]


def _by_language(
    tests: Sequence[Mapping[str, Any]], key: str, metric: str
) -> dict[str, list[float]]:
    """For each language, or `Test.label`, the mean over settings for every seed."""
    found: dict[str, dict[int, list[float]]] = {}
    for test in tests:
        for lang, scores in test[key].items():
            if metric in scores:
                found.setdefault(lang, {}).setdefault(test["seed"], []).append(scores[metric])
    return {
        lang: [statistics.fmean(values) for _, values in sorted(seeds.items())]
        for lang, seeds in found.items()
    }
