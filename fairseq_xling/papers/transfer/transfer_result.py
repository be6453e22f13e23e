"""`fairseq-xling eval transfer` and `eval matrix`: trained on one language, tested on others.

Conneau et al. 2020, section 3.2; Pires et al. 2019, Tables 1 and 2; with shifted states Liu et al.
2020, section 4.3. Each head names its own row. The table has encoders down and languages across,
mean and gap at the end.
"""

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.data.meta import in_order
from fairseq_xling.files import read_json
from fairseq_xling.papers.transfer.config import TransferConfig
from fairseq_xling.papers.transfer.steps import TestedModel
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.plots import draw_heat_map
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, PAGE, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step


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
    """The lines for a row's results: one for each test set, and more if states were also
    shifted."""
    metric, tests, lines = result["metric"], result["tests"], []
    for shifted in (False, True) if any("shifted" in test for test in tests) else (False,):
        # By test set, language and seed, a figure of each setting.
        found: dict[str, dict[str, dict[int, list[float]]]] = {}
        for test in tests:
            for label, scores in _scores_of(test, shifted).items():
                test_set, _, lang = label.rpartition(".")
                if metric in scores:
                    seeds = found.setdefault(test_set or "test", {}).setdefault(lang, {})
                    seeds.setdefault(test["seed"], []).append(scores[metric])
        title = f"{name}, shifted" if shifted else name
        for test_set in in_order(found or ["test"]):
            values = {
                lang: [statistics.fmean(figures) for _, figures in sorted(seeds.items())]
                for lang, seeds in found.get(test_set, {}).items()
            }
            row = title if test_set == "test" else f"{title}, {test_set}"
            lines.append(Line(row, sources, values, test_set))
    return lines


def _scores_of(test: Mapping[str, Any], shifted: bool) -> Mapping[str, Mapping[str, float]]:
    """The scores of a test, or those of shifted states, by `Test.label`."""
    if not shifted:
        return test["scores"]
    return {label: one["scores"] for label, one in test.get("shifted", {}).items()}


FILES = ("table.md", "table.csv", "results.json", "plot.svg", PAGE)
SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 3.2"
ONE_LANGUAGE = "TreLM (Li et al., 2021), A.6"
MATRIX = "Pires et al. (2019), Tables 1 and 2"
# trained on one language, tested on others: the row of each head's figure
ROWS = {
    "classification": "E2",
    "ner": "E3",
    "parsing": "E4",
    "srl": "E5",
    "span_qa": "E6",
    "multiple_choice": "E6",
}
# trained and tested on Chinese alone, as the tasks of CLUE are
CHINESE = "zh"
UNDERSTANDING = {"classification": "E6", "span_qa": "E6", "multiple_choice": "E6"}


def write_transfer(
    run: Path,
    config: TransferConfig,
    title: str,
    rows: Sequence[TestedModel],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    results = [
        {
            **read_json(row.result),
            "name": ", ".join(filter(None, (row.encoder.name, row.trained.row))),
        }
        for row in rows
    ]
    # The order is that of the command; the results' files sort their keys.
    languages = list(dict.fromkeys(test.lang for row in rows for test in row.trained.tests))
    record = {"config": dataclasses.asdict(config), "title": title, "metric": config.figure}
    record |= {"languages": languages, "results": results}
    write_results(Transfer, run, record, {}, steps)


@KINDS.register("transfer")
class Transfer(Kind):
    """The table, every seed, a heat map of a matrix, and what was chosen on dev files."""

    name = "transfer"

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        metric, languages, results = (record[key] for key in ("metric", "languages", "results"))
        matrix = len({tuple(one["sources"]) for one in results if not one["how"]}) > 1
        by_result = [(one, lines_of(one["name"], one["sources"], one)) for one in results]
        lines = [line for _, own in by_result for line in own]
        targets = has_targets(lines)
        source = MATRIX if matrix else SOURCE if targets else ONE_LANGUAGE
        about = f"Head {config['head']}, {metric}"
        seeds = seeds_in_words(config["seeds"], "dots")
        header, cells = table(lines, languages)
        sections = [
            Section(
                f"{metric} by language",
                header=header,
                rows=cells,
                notes=_notes(config, metric, results, result.machine, targets),
                name="table",
            ),
            Section(
                "Every seed",
                figure=_dots(lines, languages, metric),
                notes=caption(result, source, f"{about} in percent.", seeds),
                name="plot",
            ),
        ]
        if matrix:
            figure = _heat(lines, languages, metric)
            means = seeds_in_words(config["seeds"], "")
            notes = caption(result, source, f"{about} as a share.", means)
            sections.insert(
                1, Section("Every language with every language", figure=figure, notes=notes)
            )
        alphas = [
            [one["encoder"], test["seed"], lang, shifted["alpha"]]
            for one in results
            for test in one["tests"]
            for lang, shifted in test.get("shifted", {}).items()
        ]
        if alphas:
            names = ["encoder", "seed", "language", "alpha"]
            sections.append(Section("Chosen shifts", header=names, rows=alphas))
        chosen = [
            [one["name"], setting, round(value, 2)]
            for one in results
            for setting, value in one["chosen"].items()
        ]
        names = ["row", "setting", f"{metric} on dev"]
        sections.append(Section("Chosen settings", header=names, rows=chosen))
        tables = {"table": _scores(results)}
        if alphas:
            tables["shifted"] = _scores(results, shifted=True)
        return Page(
            title=record["title"]
            if targets
            else f"Head {config['head']}, trained and tested on one language",
            source=source,
            lead=[
                "Epochs and settings were selected on the source language's dev file alone; the "
                "test files were read only afterwards, for the test."
            ],
            sections=sections,
            tables=tables,
            measured=list(_measured(record, by_result, matrix)),
        )


def _dots(lines: Sequence[Line], languages: Sequence[str], metric: str) -> Drawing:
    names = [line.name for line in lines]
    panels = [
        DotPanel(names, [line.values.get(lang, []) for line in lines], f"{metric} (%)", lang)
        for lang in languages
    ]
    return partial(draw_dots, panels)


def _heat(lines: Sequence[Line], languages: Sequence[str], metric: str) -> Drawing:
    shares = [
        [
            statistics.fmean(line.values[lang]) / 100 if line.values.get(lang) else math.nan
            for lang in languages
        ]
        for line in lines
    ]
    names = [line.name for line in lines]
    labels = "tested on", "trained on", f"{metric} (share)"
    return partial(draw_heat_map, shares, names, languages, *labels)


def _scores(results: Sequence[Mapping[str, Any]], shifted: bool = False) -> Table:
    """Every figure of every test; those of shifted states, or the others."""
    header = ["encoder", "trained on", "how", "setting", "seed", "language", "figure", "value"]
    rows = []
    for one in results:
        for test in one["tests"]:
            about = [one["encoder"], "+".join(one["sources"]), one["how"], test["setting"]]
            rows += [
                [*about, test["seed"], lang, name, value]
                for lang, scores in _scores_of(test, shifted).items()
                for name, value in scores.items()
            ]
    return header, rows


def _notes(
    config: Mapping[str, Any],
    metric: str,
    results: Sequence[Mapping[str, Any]],
    where: str,
    targets: bool,
) -> list[str]:
    seeds = f"seed {config['seeds']}"
    if len(str(config["seeds"]).split(",")) > 1:
        seeds = f"mean ± standard deviation over seeds {config['seeds']}"
    tried = len({one["setting"] for one in results[0]["dev"]})
    chosen = "the only setting" if tried == 1 else (
        f"the mean of the best {config['best']} of {tried} settings by dev"
    )  # fmt: skip
    epochs = f"{config['epochs']} epoch{'s' * (config['epochs'] > 1)}"
    notes = [
        f"{metric} in percent; {seeds}; {chosen}; {epochs}, the best one by dev.",
    ]
    if targets:
        notes.append("gap: the figure of the language trained on minus the mean of the targets'.")
    if config["shift_layer"]:
        notes.append(
            f"shifted: states of layer {config['shift_layer']} shifted by the languages' mean "
            "difference at test time, alpha "
            + (
                f"the best of {config['shift_alphas']} on each target's dev file."
                if config["shift_alpha"] == "auto"
                else "given."
            )
        )
    return [*notes, f"{where}."]


def _measured(
    record: Mapping[str, Any],
    by_result: Sequence[tuple[Mapping[str, Any], Sequence[Line]]],
    matrix: bool,
) -> Iterator[Measured]:
    metric, head = record["metric"], record["config"]["head"]
    row = "E7" if matrix else ROWS.get(head)
    for one, lines in by_result:
        for line in lines:
            if one["how"]:
                for lang, values in line.values.items():
                    what = f"{metric} (%) of {lang}, {line.name}"
                    yield Measured("E14", what, statistics.fmean(values))
            elif row and line.mean is not None:
                what = f"zero-shot {metric} (%), mean of the target languages, {line.name}"
                yield Measured(row, what, line.mean)
            elif head in UNDERSTANDING and not matrix and set(line.values) == {CHINESE}:
                what = f"{metric} (%) of {CHINESE}, trained on it, head {head}, {line.name}"
                yield Measured(UNDERSTANDING[head], what, statistics.fmean(line.values[CHINESE]))
    for one in record["results"]:
        gains = [
            shifted["scores"][metric] - test["scores"][lang][metric]
            for test in one["tests"]
            for lang, shifted in test.get("shifted", {}).items()
        ]
        if gains:
            what = f"gain in {metric} (points) by shifted states, {one['encoder']}"
            yield Measured("S14", what, statistics.fmean(gains))
