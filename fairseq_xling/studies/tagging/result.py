"""The results of the study of adversarial tagging: rows of supervision, a column a target."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_json
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import claim_verdicts, paired_difference
from fairseq_xling.results.plots import BarPanel, draw_bars, over_seeds
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds, read_cell
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.tagging.config import CLAIMS, ROWS, AdversarialTaggingConfig
from fairseq_xling.studies.tagging.test import TaggingModel

FILES = ("table.md", "table.csv", "curves.csv", "results.json", "plot.svg", "report.html")
SOURCE = "the transfer note, 2.1 and 2.2"
MEAN = "mean of targets"
Results = Mapping[tuple[str, str, int], Mapping[str, Any]]  # by row, target and seed


def write_tagging(
    run: Path,
    config: AdversarialTaggingConfig,
    cells: Sequence[TaggingModel],
    maps: Mapping[str, Path],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``; ``maps`` are the mapped vectors by target."""
    results = {(c.row, c.target, c.seed): read_json(c.result) for c in cells}
    metric = next(iter(results.values()))["metric"]
    header, rows = table(results, config, metric)
    keep = ("seeds", "best_seed", "criterion", "chance")
    reports = {target: read_json(f"{path}.json") for target, path in maps.items()}
    record = {
        "config": dataclasses.asdict(config),
        "metric": metric,
        **{"header": header, "rows": rows},
        "comparisons": comparisons(results, config, metric),
        "maps": {target: {name: one[name] for name in keep} for target, one in reports.items()},
        "models": [
            {"row": row, "target": target, "seed": seed, **found}
            for (row, target, seed), found in results.items()
        ],
    }
    files = {f"{c.row}-{c.target}-{c.seed}": c.result for c in cells}
    write_results(AdversarialTagging, run, record, files, steps)


@KINDS.register("adversarial-tagging")
class AdversarialTagging(Kind):
    """Bars for the rows of each target, and lines by epoch."""

    name = "adversarial-tagging"

    def page(self, result: Result) -> Page:
        record, config, metric = result.record, result.record["config"], result.record["metric"]
        header = record["header"]
        rows = [[read_cell(cell) for cell in row] for row in record["rows"]]
        names = [f"{row[0]}: {row[1]}" for row in rows]
        bars = [
            BarPanel(names, [over_seeds(title, [row[place] for row in rows])], f"{title} (%)")
            for place, title in enumerate(header)
            if title.startswith(f"{metric}, ")
        ]
        place = header.index(MEAN)
        curves = [model for model in record["models"] if "curve" in model]
        sections = [
            Section(
                f"{metric} by target language",
                header=header,
                rows=rows,
                notes=_notes(record, rows, result.machine),
                name="table",
            ),
            Section(
                "Figures by row",
                figure=partial(draw_bars, bars),
                notes=caption(result, SOURCE, seeds_in_words(config["seeds"])),
                name="" if curves else "plot",
            ),
        ]
        if curves:
            first = f"Seed {curves[0]['seed']}; the target's is of its test file."
            panels = _panels(config["languages"], metric, curves)
            figure = partial(draw, panels, common=True)
            notes = caption(result, SOURCE, first)
            sections.append(Section("By epoch", figure=figure, notes=notes, name="plot"))
        return Page(
            title="Adversarial cross-lingual tagging",
            source=SOURCE,
            lead=[
                "A tagger trained on one language's annotation, tested on others. Annotation of a "
                "target is opened by rows 5 and 6 and by the tests alone."
            ],
            sections=sections,
            tables={"table": every_score(record["models"], metric), "curves": _curves(curves)},
            measured=[
                Measured("E12", f"{header[place]} (%), row {name}", row[place].mean)
                for row, name in zip(rows, names, strict=True)
                if row[place]
            ],
        )


def _curves(models: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """A line for each epoch of each curve."""
    header = ["row", "target", "seed", "epoch", "source", "target figure", "discriminator"]
    rows = []
    for one in models:
        curve = one["curve"]
        said = curve["discriminator"] or [None] * len(curve["source"])
        epochs = zip(curve["source"], curve["figures"], said, strict=True)
        for epoch, found in enumerate(epochs, start=1):
            rows.append([one["row"], one["target"], one["seed"], epoch, *found])
    return header, rows


def table(
    results: Results, config: AdversarialTaggingConfig, metric: str
) -> tuple[list[str], list[list[Any]]]:
    """Means over seeds with deviations; the source's figure and accuracies, over targets, too."""
    header = ["row", "", *(f"{metric}, {lang}" for lang in config.targets), MEAN]
    header += [f"{metric}, {config.source}", "D (%)", "fresh classifier (%)"]
    rows = []
    for row in config.row_list:
        own = {key: found for key, found in results.items() if key[0] == row.code}
        cells = []
        for lang in config.targets:
            cells.append([f["scores"][lang][metric] for (_, t, _), f in own.items() if t == lang])
        by_seed = [statistics.fmean(values) for values in zip(*cells, strict=True)]
        source = [f["scores"][config.source][metric] for f in own.values() if len(f["scores"]) > 1]
        language = [f["language"] or {} for f in own.values()]
        cells += [by_seed, source]
        for name in ("discriminator", "fresh"):
            cells.append([100 * found[name] for found in language if name in found])
        rows.append([row.code, row.title, *(OverSeeds.of(values, 1) for values in cells)])
    return header, rows


def comparisons(
    results: Results, config: AdversarialTaggingConfig, metric: str
) -> list[dict[str, Any]]:
    """`paired_difference` of rows by seed, each the mean over the targets."""
    codes, seeds = [row.code for row in config.row_list], config.seed_list
    found = []
    for claim in CLAIMS:
        if not {claim.better, claim.worse} <= set(codes):
            continue
        sides = [
            [
                statistics.fmean(
                    results[code, lang, seed]["scores"][lang][metric] for lang in config.targets
                )
                for seed in seeds
            ]
            for code in (claim.better, claim.worse)
        ]
        named = {"row": claim.better, "against": claim.worse}
        found.append({**named, **paired_difference(*sides)})
    return found


def _panels(languages: str, metric: str, models: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Source and target figures of rows 2 and 4 and the accuracy of D by epoch, for each target."""
    source, *targets = languages.split(",")
    made = []
    for target in targets:
        lines = []
        for model in [one for one in models if one["target"] == target]:
            row, curve, style = model["row"], model["curve"], 0 if model["row"] == "2" else 2
            x = list(range(1, len(curve["source"]) + 1))
            for number, (name, key) in enumerate((("source", "source"), ("target", "figures"))):
                lines.append(
                    Line(f"row {row}, {metric} of the {name}", x, curve[key], style + number)
                )
            if curve["discriminator"]:
                accuracies = [100 * value for value in curve["discriminator"]]
                lines.append(Line(f"row {row}, accuracy of D", x, accuracies, 4))
        title, chance = f"{source} to {target}", (50, "chance of D")
        made.append(Panel(lines, "epoch", "percent", title, chance, whole=True))
    return made


def every_score(
    models: Sequence[Mapping[str, Any]], metric: str
) -> tuple[list[str], list[list[Any]]]:
    """Unrounded: a line for each model."""
    header = ["row", "target", "seed", "epoch", metric, f"{metric} of the source"]
    header += ["discriminator", "fresh classifier"]
    rows = []
    for found in models:
        scores, target = found["scores"], found["target"]
        others = [own[metric] for lang, own in scores.items() if lang != target]
        language = found["language"] or {}
        rows.append(
            [
                *(found["row"], target, found["seed"], found["epoch"], scores[target][metric]),
                others[0] if others else None,
                *(language.get(name) for name in ("discriminator", "fresh")),
            ]
        )
    return header, rows


def _notes(record: Mapping[str, Any], rows: Sequence[Sequence[Any]], machine: str) -> list[str]:
    config, metric = record["config"], record["metric"]
    notes = [
        f"{metric} in percent, mean ± standard deviation over seeds {config['seeds']}; "
        f"{config['sentences']:,} annotated training sentences, {config['epochs']} epochs, of "
        f"which the best by {config['valid_sentences']:,} dev sentences of the language trained on "
        f"(row 5: by {config['few']} of the target's).",
        "D is the accuracy of the model's own discriminator, fresh classifier that of a logistic "
        "regression on the mean of the shared states; both on held-out sentences, the "
        "mean over targets, chance 50.",
    ]
    place = record["header"].index(MEAN)
    means = {row[0]: row[place].values for row in rows if row[place]}
    notes += claim_verdicts(CLAIMS, means, f"points, {MEAN}", difference="row {} minus row {}")
    source = config["languages"].partition(",")[0]
    for target, report in record["maps"].items():
        notes.append(map_note(f"Map {source} to {target}, {config['map']}", report))
    return [*notes, f"{ROWS['5'].title.capitalize()}: {config['few']}.", f"{machine}."]


def map_note(name: str, report: Mapping[str, Any]) -> str:
    """Whether the map that was used is one, by what `fairseq-xling map` reports of it."""
    failure = report["seeds"][str(report["best_seed"])]["failure"]
    state = f"failed: {failure}" if failure else "better than chance"
    return f"{name}: criterion {report['criterion']:.3f}, chance {report['chance']:.3f}; {state}."
