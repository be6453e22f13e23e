"""The table of a study: encoders down, languages across, mean and gap at the end."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.data.splits import in_order
from fairseq_xling.files import read_json, write_json
from fairseq_xling.provenance import machine, provenance
from fairseq_xling.results import report
from fairseq_xling.results.figure_file import write_svg
from fairseq_xling.results.figures import DotPanel, draw_dots, to_svg
from fairseq_xling.results.report import Section
from fairseq_xling.results.tables import write_csv, write_markdown
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.transfer.config import TransferConfig
from fairseq_xling.studies.transfer.steps import Row

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")


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


def write_table(
    run: Path,
    config: TransferConfig,
    title: str,
    rows: Sequence[Row],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    results = [read_json(row.result) for row in rows]
    metric = config.figure
    lines = [
        line
        for row, one in zip(rows, results, strict=True)
        for line in lines_of(_name(row), row.trained.sources, one)
    ]
    # The order is that of the command; the results' files sort their keys.
    languages = list(dict.fromkeys(test.lang for row in rows for test in row.trained.tests))
    header, cells = table(lines, languages)
    notes = _notes(config, metric, results)
    svg = to_svg(
        draw_dots(
            [
                DotPanel(
                    [line.name for line in lines],
                    [line.values.get(lang, []) for line in lines],
                    xlabel=f"{metric} (%)",
                    title=lang,
                )
                for lang in languages
            ]
        )
    )
    write_svg(run / "plot.svg", svg)
    write_markdown(run / "table.md", header, cells, notes)
    write_csv(run / "table.csv", *_every_score(rows, results))
    record = {"config": dataclasses.asdict(config), "title": title, "metric": metric}
    record |= {"header": header, "rows": cells, "notes": notes, "results": results}
    write_json(run / "results.json", {**record, "provenance": provenance({})})
    sections = [
        Section(f"{metric} by language", header=header, rows=cells, notes=notes),
        Section("Every seed", svg=svg),
        Section("Chosen settings", header=["row", "setting", f"{metric} on dev"], rows=[
            [_name(row), setting, round(value, 2)]
            for row, one in zip(rows, results, strict=True)
            for setting, value in one["chosen"].items()
        ]),
        Section("Settings", header=["option", "value"], rows=[
            (k, str(v)) for k, v in dataclasses.asdict(config).items() if v not in ("", ())
        ]),
        report.versions_section(),
        report.commands_section(steps),
    ]  # fmt: skip
    lead = [
        "Epochs and settings were selected on the source language's dev file alone; the test files "
        "were read only afterwards, for the test."
    ]
    report.write_report(run / "report.html", title, lead, sections)


def table(lines: Sequence[Line], languages: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Means over seeds, with deviations; the mean over target languages, and its gap to that of
    the languages trained on."""
    header = ["encoder", *languages, "mean of targets", "gap"]
    rows = []
    for line in lines:
        means = {lang: statistics.fmean(found) for lang, found in line.values.items()}
        targets = [value for lang, value in means.items() if lang not in line.sources]
        trained = [value for lang, value in means.items() if lang in line.sources]
        mean = statistics.fmean(targets) if targets else None
        gap = statistics.fmean(trained) - mean if trained and mean is not None else None
        cells = [_cell(line.values.get(lang)) for lang in languages]
        rows.append([line.name, *cells, _figure(mean), _figure(gap)])
    return header, rows


def _cell(values: Sequence[float] | None) -> str | None:
    if not values:
        return None
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _name(row: Row) -> str:
    return ", ".join(filter(None, (row.encoder.name, row.trained.row)))


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


def _every_score(
    rows: Sequence[Row], results: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[list[Any]]]:
    header = ["encoder", "trained on", "how", "setting", "seed", "language", "figure", "value"]
    return header, [
        [
            *(row.encoder.name, "+".join(row.trained.sources), row.trained.how),
            *(test["setting"], test["seed"], lang, name, value),
        ]
        for row, one in zip(rows, results, strict=True)
        for test in one["tests"]
        for lang, scores in test["scores"].items()
        for name, value in scores.items()
    ]


def _notes(config: TransferConfig, metric: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    seeds = f"seed {config.seeds}"
    if len(config.seed_list) > 1:
        seeds = f"mean ± standard deviation over seeds {config.seeds}"
    tried = len({one["setting"] for one in results[0]["dev"]})
    chosen = "the only setting" if tried == 1 else (
        f"the mean of the best {config.best} of {tried} settings by dev"
    )  # fmt: skip
    epochs = f"{config.epochs} epoch{'s' * (config.epochs > 1)}"
    notes = [
        f"{metric} in percent; {seeds}; {chosen}; {epochs}, the best one by dev.",
        "gap: the figure of the language trained on minus the mean of the targets'.",
    ]
    if config.shift_layer:
        notes.append(
            f"shifted: states of layer {config.shift_layer} shifted by the languages' mean "
            "difference at test time, alpha "
            + (
                f"the best of {config.shift_alphas} on each target's dev file."
                if config.shift_alpha == "auto"
                else "given."
            )
        )
    return [*notes, f"{machine()}."]
