"""The table of the study of adversarial tagging: rows of supervision, a column for each target."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_json, write_json
from fairseq_xling.runs.ablation_table import mean_and_spread
from fairseq_xling.runs.adversarial_tagging_config import (
    COMPARED,
    ROWS,
    AdversarialTaggingConfig,
)
from fairseq_xling.runs.adversarial_tagging_test import Cell
from fairseq_xling.runs.figure_file import write_svg
from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.paired import paired_difference
from fairseq_xling.runs.provenance import machine, provenance
from fairseq_xling.runs.report import Section, commands_section, versions_section, write_report
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import write_csv, write_markdown

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
STUDY = "adversarial-tagging"
TITLE = "Adversarial cross-lingual tagging"
Results = Mapping[tuple[str, str, int], Mapping[str, Any]]  # by row, target and seed


def write_table(
    run: Path,
    config: AdversarialTaggingConfig,
    cells: Sequence[Cell],
    maps: Mapping[str, Path],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``; ``maps`` are the mapped vectors by target."""
    results = {(c.row, c.target, c.seed): read_json(c.result) for c in cells}
    metric = next(iter(results.values()))["metric"]
    header, rows = table(results, config, metric)
    compared = comparisons(results, config, metric)
    curves = [
        {"row": row, "target": target, "seed": seed, **found["curve"]}
        for (row, target, seed), found in results.items()
        if "curve" in found
    ]
    notes = _notes(config, metric, compared, maps)
    record = {
        "study": STUDY,
        "config": dataclasses.asdict(config),
        "metric": metric,
        **{"header": header, "rows": rows, "notes": notes, "comparisons": compared},
        "curves": curves,
        "models": list(results.values()),
    }
    svg = to_svg(draw(panels(record), common=True))
    write_svg(run / "plot.svg", svg)
    write_markdown(run / "table.md", header, rows, notes)
    write_csv(run / "table.csv", *every_score(results, metric))
    files = {f"{c.row}-{c.target}-{c.seed}": c.result for c in cells}
    write_json(run / "results.json", {**record, "provenance": provenance(files)})
    settings = [(k, str(v)) for k, v in dataclasses.asdict(config).items() if v not in ("", ())]
    lead = [
        "A tagger trained on one language's annotation, tested on others. Annotation of a target "
        "is opened by rows 5 and 6 and by the tests alone."
    ]
    sections = [
        Section(f"{metric} by target language", header=header, rows=rows, notes=notes),
        Section("By epoch", svg=svg),
        Section("Settings", header=["option", "value"], rows=settings),
        versions_section(),
        commands_section(steps),
    ]
    write_report(run / "report.html", TITLE, lead, sections)


def table(
    results: Results, config: AdversarialTaggingConfig, metric: str
) -> tuple[list[str], list[list[Any]]]:
    """Means over seeds with deviations; the source's figure and accuracies, over targets, too."""
    header = ["row", "", *(f"{metric}, {lang}" for lang in config.targets), "mean of targets"]
    header += [f"{metric}, {config.source}", "D (%)", "fresh classifier (%)"]
    rows = []
    for row in config.row_list:
        own = {key: found for key, found in results.items() if key[0] == row.code}
        cells = []
        for lang in config.targets:
            cells.append([f["scores"][lang][metric] for (_, t, _), f in own.items() if t == lang])
        by_seed = [statistics.fmean(values) for values in zip(*cells, strict=True)]
        source = [f["scores"][config.source][metric] for f in own.values() if _two(f)]
        language = [f["language"] or {} for f in own.values()]
        cells += [by_seed, source]
        for name in ("discriminator", "fresh"):
            cells.append([100 * found[name] for found in language if name in found])
        shown = [mean_and_spread(values, 1) if values else "-" for values in cells]
        rows.append([row.code, row.title, *shown])
    return header, rows


def _two(found: Mapping[str, Any]) -> bool:
    """Whether the model reads both languages."""
    return len(found["scores"]) > 1


def comparisons(
    results: Results, config: AdversarialTaggingConfig, metric: str
) -> list[dict[str, Any]]:
    """`paired_difference` of rows by seed, each the mean over the targets."""
    codes, seeds = [row.code for row in config.row_list], config.seed_list
    found = []
    for better, worse in COMPARED:
        if better not in codes or worse not in codes:
            continue
        sides = [
            [
                statistics.fmean(
                    results[code, lang, seed]["scores"][lang][metric] for lang in config.targets
                )
                for seed in seeds
            ]
            for code in (better, worse)
        ]
        found.append({"row": better, "against": worse, **paired_difference(*sides)})
    return found


def panels(record: Mapping[str, Any]) -> list[Panel]:
    """Source and target figures of rows 2 and 4 and the accuracy of D by epoch, for each target."""
    config, metric = record["config"], record["metric"]
    source, *targets = config["languages"].split(",")
    made = []
    for target in targets:
        lines = []
        for curve in record["curves"]:
            if curve["target"] != target:
                continue
            style = 0 if curve["row"] == "2" else 2
            for number, (name, values) in enumerate(
                (("source", curve["source"]), ("target", curve["figures"]))
            ):
                x = list(range(1, len(values) + 1))
                label = f"row {curve['row']}, {metric} of the {name}"
                lines.append(Line(label, x, values, style + number))
            if curve["discriminator"]:
                accuracies = [100 * value for value in curve["discriminator"]]
                x = list(range(1, len(accuracies) + 1))
                lines.append(Line(f"row {curve['row']}, accuracy of D", x, accuracies, 4))
        made.append(Panel(lines, "epoch", "percent", f"{source} to {target}", (50, "chance of D")))
    return made


def every_score(results: Results, metric: str) -> tuple[list[str], list[list[Any]]]:
    """Unrounded: a line for each model."""
    header = ["row", "target", "seed", "epoch", metric, f"{metric} of the source"]
    header += ["discriminator", "fresh classifier"]
    rows = []
    for (row, target, seed), found in results.items():
        others = [scores[metric] for lang, scores in found["scores"].items() if lang != target]
        language = found["language"] or {}
        rows.append(
            [
                *(row, target, seed, found["epoch"], found["scores"][target][metric]),
                others[0] if others else None,
                *(language.get(name) for name in ("discriminator", "fresh")),
            ]
        )
    return header, rows


def _notes(
    config: AdversarialTaggingConfig,
    metric: str,
    compared: Sequence[Mapping[str, Any]],
    maps: Mapping[str, Path],
) -> list[str]:
    notes = [
        f"{metric} in percent, mean ± standard deviation over seeds {config.seeds}; "
        f"{config.sentences:,} annotated training sentences, {config.epochs} epochs, of which the "
        f"best by {config.valid_sentences:,} dev sentences of the language trained on (row 5: by "
        f"{config.few} of the target's).",
        "D is the accuracy of the model's own discriminator, fresh classifier that of a logistic "
        "regression on the mean of the shared states; both on held-out sentences, the "
        "mean over targets, chance 50.",
    ]
    for one in compared:
        p = "" if one["p"] is None else f", paired t-test p = {one['p']:.3f}"
        above = sum(gap > 0 for gap in one["gaps"])
        notes.append(
            f"Row {one['row']} against row {one['against']}: {one['mean']:+.1f} points, mean over "
            f"targets; above in {above} of {len(one['gaps'])} seeds{p}."
        )
    for target, path in maps.items():
        about = read_json(f"{path}.json")
        state = "no seed was better than chance" if about["failed"] else "better than chance"
        notes.append(
            f"Map {config.source} to {target}, {config.map}: criterion {about['criterion']:.3f}, "
            f"chance {about['chance']:.3f}: {state}."
        )
    return [*notes, f"{ROWS['5'].title.capitalize()}: {config.few}.", f"{machine()}."]
