"""The results of the study of adversarial tagging: rows of supervision, a column a target."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.files import read_json
from fairseq_xling.papers.transfer.tagging.config import CLAIMS, ROWS, AdversarialTaggingConfig
from fairseq_xling.papers.transfer.tagging.test import TaggingModel
from fairseq_xling.results.charts import bars, curves
from fairseq_xling.results.frame import figures, make_frame, pivot, spread
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import claim_verdicts
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.step import Step

FILES = ("table.md", "table.csv", "curves.csv", "results.json", "plot.svg", "report.html")
SOURCE = "the transfer note, 2.1 and 2.2"
MEAN = "mean of targets"
_D, _FRESH = "D (%)", "fresh classifier (%)"
# a model of these languages, and its epochs, by what tells them apart
_MODEL = {name: name for name in ("row", "target", "seed", "epoch")}
_CURVES = {"source": "source", "target": "target figure", "discriminator": "discriminator"}


def write_tagging(
    run: Path,
    config: AdversarialTaggingConfig,
    cells: Sequence[TaggingModel],
    maps: Mapping[str, Path],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``; ``maps`` are the mapped vectors by target."""
    models = [{**dataclasses.asdict(cell), **read_json(cell.result)} for cell in cells]
    keep = ("seeds", "best_seed", "criterion", "chance")
    reports = {target: read_json(f"{path}.json") for target, path in maps.items()}
    record = {
        "config": dataclasses.asdict(config),
        "metric": models[0]["metric"],
        "maps": {target: {name: one[name] for name in keep} for target, one in reports.items()},
    }
    files = {f"{c.row}-{c.target}-{c.seed}": c.result for c in cells}
    write_results(AdversarialTagging, run, record, files, steps, measurements(models))


def measurements(models: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """A row for each figure of each model, in percent, or accuracy, a share; those by epoch have
    the task ``epochs``."""
    return make_frame(
        (row for one in models for row in _measurements(one)),
        paper="transfer",
        study="adversarial tagging",
    )


def _measurements(model: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    metric, target = model["metric"], model["target"]
    about = {name: model[name] for name in _MODEL} | {"name": ROWS[model["row"]].title}
    found = {
        "target" if lang == target else "source": scores[metric]
        for lang, scores in model["scores"].items()
    }
    for name, value in {**found, **(model["language"] or {})}.items():
        yield {**about, "measure": name, "value": value}
    by_epoch = model.get("curve", {})
    for name, key in (("source",) * 2, ("target", "figures"), ("discriminator",) * 2):
        for epoch, value in enumerate(by_epoch.get(key, ()), start=1):
            yield {**about, "epoch": epoch, "task": "epochs", "measure": name, "value": value}


def by_column(frame: pandas.DataFrame, source: str, metric: str) -> pandas.DataFrame:
    """The figures of trained models in percent, with their ``column`` of the table: the source's
    figure and accuracies are over targets, too."""
    scores = frame[frame["task"].isna()]
    of_target = scores["measure"] == "target"
    own, rest = scores[of_target], scores[~of_target]
    headings = {"source": f"{metric}, {source}", "discriminator": _D, "fresh": _FRESH}
    rest = rest.assign(
        column=rest["measure"].map(headings),
        seed=rest["seed"].astype(str) + rest["target"],
        value=rest["value"].where(rest["measure"] == "source", rest["value"] * 100),
    )
    each = own.assign(column=f"{metric}, " + own["target"])
    return pandas.concat([each, own.assign(column=MEAN), rest])


@KINDS.register("adversarial-tagging")
class AdversarialTagging(Kind):
    """Bars for the rows of each target, and lines by epoch."""

    name = "adversarial-tagging"

    def page(self, result: Result) -> Page:
        record, config, metric = result.record, result.record["config"], result.record["metric"]
        frame, (source, *targets) = result.frame, config["languages"].split(",")
        by_epoch, scores = frame[frame["task"] == "epochs"], frame[frame["task"].isna()]
        found = by_column(frame, source, metric)
        drawn = [f"{metric}, {lang}" for lang in (*targets, source)]
        order = [*drawn[:-1], MEAN, drawn[-1], _D, _FRESH]
        header, rows = pivot(found, {"row": "row", "": "name"}, "column", order=order, digits=1)
        labelled = found[found["column"].isin(drawn)]
        labelled = labelled.assign(row=labelled["row"] + ": " + labelled["name"])
        names = {name: f"{name} (%)" for name in drawn}
        sections = [
            Section(
                f"{metric} by target language",
                header=header,
                rows=rows,
                notes=_notes(record, frame, result.machine),
                name="table",
            ),
            Section(
                "Figures by row",
                figure=partial(bars, labelled, names, series="task", panel="column"),
                notes=caption(result, SOURCE, seeds_in_words(config["seeds"])),
                name="plot" if by_epoch.empty else "",
            ),
        ]
        if not by_epoch.empty:
            first = f"Seed {by_epoch['seed'].iat[0]}; the target's is of its test file."
            figure = partial(draw_epochs, by_epoch, source, metric)
            notes = caption(result, SOURCE, first)
            sections.append(Section("By epoch", figure=figure, notes=notes, name="plot"))
        headings = {"target": metric, "source": f"{metric} of the source"}
        headings |= {"discriminator": "discriminator", "fresh": "fresh classifier"}
        return Page(
            title="Adversarial cross-lingual tagging",
            source=SOURCE,
            lead=[
                "A tagger trained on one language's annotation, tested on others. Annotation of a "
                "target is opened by rows 5 and 6 and by the tests alone."
            ],
            sections=sections,
            tables={"table": _spread(scores, headings), "curves": _spread(by_epoch, _CURVES)},
            measured=[
                Measured("E12", f"{MEAN} (%), row {row[0]}: {row[1]}", row[header.index(MEAN)].mean)
                for row in rows
                if row[header.index(MEAN)]
            ],
        )


def _spread(frame: pandas.DataFrame, headings: Mapping[str, str]) -> Any:
    """Every figure, unrounded, a line for each model or epoch."""
    named = frame.assign(measure=frame["measure"].map(headings))
    return spread(named, _MODEL, order=list(headings.values()))


def draw_epochs(frame: pandas.DataFrame, source: str, metric: str) -> Any:
    """Source and target figures of rows 2 and 4 and the accuracy of D by epoch, for each target."""
    lines, labels, values = [], [], []
    columns = frame[["row", "measure", "value"]]
    for row, measure, value in columns.itertuples(index=False):
        of_d = measure == "discriminator"
        lines.append("D" if of_d else f"{row} {measure}")
        labels.append(f"row {row}, " + ("accuracy of D" if of_d else f"{metric} of the {measure}"))
        values.append(100 * value if of_d else value)
    frame = frame.assign(line=lines, label=labels, value=values, chance=50)
    return curves(
        frame,
        "percent",
        xlabel="epoch",
        x="epoch",
        line="line",
        label="label",
        panel="target",
        title={target: f"{source} to {target}" for target in frame["target"]},
        chance="chance of D",
        styles=("2 source", "2 target", "4 source", "4 target", "D"),
        common=True,
    )


def _notes(record: Mapping[str, Any], frame: pandas.DataFrame, machine: str) -> list[str]:
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
    own = frame[frame["task"].isna() & (frame["measure"] == "target")]
    means = {row: values for (row,), values in figures(own, "row").items()}
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
