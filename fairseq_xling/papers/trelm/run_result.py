"""The results of ``trelm run``: bits per word, translations, losses and the cost."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.analysis.sampled_bleu import ORDERS
from fairseq_xling.core.files import atomic_write
from fairseq_xling.interop.sources import folder_family
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts
from fairseq_xling.papers.trelm.results import (
    BITS,
    PAPER,
    PRECISIONS,
    SCORES,
    cost_table,
    each,
    last_bits,
    measure,
    part,
    totals,
    which,
)
from fairseq_xling.results.charts import bars
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.frame import listed, split, spread
from fairseq_xling.results.page import Measured, Page, Result, Table, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import merge_seeds
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_log import UNDRAWN, curve_words

FILES = (
    *("report.html", "results.json", "summary.txt"),
    *("curves.csv", "phases.csv", "translation.csv", "cost.csv"),
)

# The row of what was migrated from another family of encoders than BERT's.
FAMILY_ROWS = {"xlm": "T24"}

_BACKWARD = "samples_backward"  # of a migration that translates in both directions
_OF = {"target": "target", "seed": "seed"}  # columns that tell migrations apart

FAULTS = (
    "Words: F1 of the words, whatever their order. Order: pairs of unambiguous words in the order "
    "of the reference. Repeated: words that repeat the one before them. All in percent."
)


def write_run(
    run: Path, config: TrelmConfig, artifacts: Sequence[Artifacts], steps: Sequence[Step]
) -> None:
    """Write `FILES` into ``run``."""
    frame, migrations = measure(config, ((None, one) for one in artifacts), "run")
    record = {"config": dataclasses.asdict(config), "migrations": migrations}
    record["source_family"] = folder_family(config.source)
    write_results(TrelmRun, run, record, {}, steps, frame)
    tables = {
        "Bits per word": phase_table(frame),
        f"Translation, {translators(migrations)}": bleu_table(frame),
        "Tasks": task_table(frame),
    }
    with atomic_write(run / "summary.txt", "w") as file:
        for title, table in tables.items():
            if table[1]:
                file.write(f"{title}\n{text_table(*table)}\n\n")


@KINDS.register("trelm-run")
class TrelmRun(Kind):
    """Bits per word after each phase, translations by ordering, losses, and the cost."""

    name = "trelm-run"

    def page(self, result: Result) -> Page:
        config, frame = result.record["config"], result.frame
        found = result.record["migrations"]
        source, targets = frame["source"].iat[0], ", ".join(dict.fromkeys(frame["target"]))
        losses = caption(result, PAPER, "Unit: bits per predicted subword.")
        phases = {"phase": "phase", "steps": "steps", "language": "language", BITS: "value"}
        points = {"phase": "phase", "split": "split", "curve": "measure", "update": "steps"}
        return Page(
            title=f"Migration to {targets}",
            source=f"{PAPER}, Algorithm 1",
            lead=[
                f"The encoder {config['source']} was migrated from {source} to {targets}: "
                "new words, then commonality training, transfer in both directions, combination, "
                f"and training on the target language alone ({PAPER}, Algorithm 1)."
            ],
            sections=[
                _bits(result, part(frame, "bits")),
                *_translations(result, part(frame, "translation")),
                *_tasks(frame),
                *maps(found),
                *(
                    Section(f"Loss, {words}", figure=partial(_losses, own), notes=losses)
                    for words, own in each(frame)
                ),
                *(_cost(own) for _, own in each(frame)),
            ],
            tables={
                "curves": listed(part(frame, "loss"), {**_OF, **points, "value": "value"}),
                "phases": listed(part(frame, "bits"), {**_OF, **phases}),
                "translation": bleu_rows(frame),
                "cost": spread(part(frame, "cost"), {**_OF, "phase": "phase"}),
            },
            # Runs of before name no family.
            measured=list(_measured(frame, result.record.get("source_family", ""))),
        )


def phase_table(frame: pandas.DataFrame) -> Table:
    """Bits per word of both languages after each phase, over seeds."""
    bits = part(frame, "bits")
    names = [f"{BITS}, {bits['source'].iat[0]}", f"{BITS}, target"]
    headings = [
        names[lang == to] for lang, to in zip(bits["language"], bits["target"], strict=True)
    ]
    of = {**_OF, "after": "phase", "steps": "steps"}
    return merge_seeds(*spread(bits.assign(heading=headings), of, "heading", names), [3, 3])


def maps(found: Sequence[Mapping[str, Any]]) -> list[Section]:
    """The map of each target's embeddings; none if they are not mapped."""
    rows = [
        [
            *(one["target"], entry["best_seed"], entry["criterion"], entry["criterion_unmapped"]),
            "yes" if entry["failed"] else "no",
            ", ".join(map(str, entry["failed_seeds"])) or "none",
        ]
        for one in {one["target"]: one for one in found}.values()
        for entry in one["maps"]
    ]
    header = ["target", "best seed", "mean cosine", "unmapped", "failed", "failed seeds"]
    text = "Mean cosine of the vectors to their nearest source embeddings after the map."
    return [Section("Map of the embeddings", text=text, header=header, rows=rows)] if rows else []


TASKS = "Tasks are trained and tested in the target language, from the last checkpoint; in percent."


def task_table(frame: pandas.DataFrame) -> Table:
    """The figures of the tasks of each migration; no rows if there are no tasks."""
    header, rows = spread(part(frame, "task"), _OF)
    return merge_seeds(header, rows, [2] * (len(header) - len(_OF)))


def _tasks(frame: pandas.DataFrame) -> Iterator[Section]:
    header, rows = task_table(frame)
    if rows:
        yield Section("Tasks", text=TASKS, header=header, rows=rows)


def _bits(result: Result, bits: pandas.DataFrame) -> Section:
    unit, split_name = "bits per masked subword", result.record["config"]["bpw_split"]
    seeds = ", ".join(dict.fromkeys(map(str, bits["seed"])))
    notes = caption(result, f"{PAPER}, Algorithm 1 and A.7", f"Seed {seeds}.", f"Unit: {unit}.")
    panels = []
    for _, own in each(bits):
        target = own["target"].iat[0]
        own = own.sort_values("language", key=lambda names: names == target, kind="stable")
        chance = dict(zip(own["language"], own["chance"], strict=True))
        values = ", ".join(f"{value:.2f} ({lang})" for lang, value in chance.items())
        notes.append(f"Chance is {values} bits per word with the words of {target}.")
        series = own["language"].replace(target, f"{target} (target)")
        panels.append(own.assign(series=series, chance=chance[target]))
    return Section(
        "Bits per word after each phase",
        text=f"With the same masks of the {split_name} text for all checkpoints; lower is better.",
        figure=_bars(pandas.concat(panels), unit, "phase", "series", chance="chance ({:.1f})"),
        **dict(zip(("header", "rows"), phase_table(bits), strict=True)),
        notes=list(dict.fromkeys(notes)),
    )


def _bars(frame: pandas.DataFrame, unit: str, row: str, series: str, chance: str = "") -> Drawing:
    """A panel for each migration."""
    names = [which(*of) for of in zip(frame["target"], frame["seed"], strict=True)]
    how = {"panel": "panel", "title": {name: name for name in names}, "chance": chance}
    return partial(bars, frame.assign(panel=names), unit, row=row, series=series, **how)


def _losses(own: pandas.DataFrame) -> Figure:
    curves, panels = part(own, "loss"), []
    for phase in dict.fromkeys(part(own, "cost")["phase"]):
        found = curves[(curves["phase"] == phase) & ~curves["measure"].isin(UNDRAWN)]
        lines = [
            Line(
                curve_words(key, name),
                *(points["steps"].tolist(), points["value"].tolist()),
                *(style, name == "valid"),
            )
            for style, key in enumerate(sorted(set(found["measure"])))
            for name, points in split(found[found["measure"] == key], "split")
        ]
        axes = {"xlabel": "optimiser steps", "ylabel": "bits per predicted subword"}
        panels.append(Panel(lines, **axes, title=phase))
    return draw(panels)


def _cost(own: pandas.DataFrame) -> Section:
    header, rows = cost_table(own)
    sizes = {
        name: ", ".join(f"{one.value:,} of {one.language}" for one in found.itertuples())
        for name, found in split(part(own, "text"), "measure")
    }
    return Section(
        f"Cost of {own['target'].iat[0]}, seed {own['seed'].iat[0]}",
        text=f"Training sentences: {sizes.get('training sentences', '')}; sentence pairs: "
        f"{sizes.get('training pairs', 'none')}. Both directions of "
        "transfer are trained; the paper counts them as one.",
        header=header,
        rows=rows,
        notes=["Minutes are fairseq-train's running time, without interruptions."],
    )


def _measured(frame: pandas.DataFrame, family: str) -> Iterator[Measured]:
    for _, own in each(frame):
        target = own["target"].iat[0]
        last = last_bits(own)["value"].iat[0]
        row = FAMILY_ROWS.get(family, "T9")
        yield Measured(row, f"{BITS} of {target} at the end", last)
        if target != frame["target"].iat[0]:
            yield Measured("T26", f"{BITS} of the further target {target} at the end", last)
        days = totals(own)["device_days"]
        yield Measured("T25", f"device-days of a migration to {target}", days)
        words = own[own["measure"] == PRECISIONS[0]].set_index("ordering")["value"]
        for ordering, what in (
            ("identity", f"to {target} in the source's order"),
            ("identity, backward", f"from {target} in its own order"),
        ):
            if ordering in words:
                yield Measured("T18", f"1-gram precision {what}, percent", words[ordering])


def bleu_table(frame: pandas.DataFrame) -> Table:
    """n-gram precisions, the cumulative score and where it is lost, of every ordering, over
    seeds."""
    header, rows = bleu_rows(frame)
    digits = [1] * ORDERS + [2, 3, 3, 2, 1, 1, 1]
    return merge_seeds(header[:-1], [row[:-1] for row in rows], digits)


def bleu_rows(frame: pandas.DataFrame) -> Table:
    """The same as numbers, with sacrebleu's signature."""
    scores, of = part(frame, "translation"), {**_OF, "ordering": "ordering"}
    header, rows = spread(scores, of, order=[*PRECISIONS, *SCORES])
    signatures = scores.loc[scores["measure"] == "BLEU", "signature"]
    return [*header, "signature"], [
        [*row, signature] for row, signature in zip(rows, signatures, strict=True)
    ]


def _translations(result: Result, scores: pandas.DataFrame) -> Iterator[Section]:
    """Scores of all, then sentences of each migration; nothing if none has translated."""
    if scores.empty:
        return
    found = [one for one in result.record["migrations"] if one["samples"]]
    header, rows = bleu_table(scores)
    shown = scores[scores["measure"].isin([*PRECISIONS, "BLEU"])]
    seeds = ", ".join(dict.fromkeys(map(str, scores["seed"])))
    yield Section(
        f"Translation with the {translators(found)}",
        text="All words are predicted at once; the orderings differ in the source position of each "
        "target word.",
        figure=_bars(shown, "percent", "measure", "ordering"),
        header=header,
        rows=rows,
        notes=[
            *caption(result, f"{PAPER}, Table 6", f"Seed {seeds}."),
            "Precisions as printed by sacrebleu, in percent, without smoothing; BLEU is their "
            "geometric mean times the brevity penalty. References are the data folder's subwords "
            "joined again.",
            FAULTS,
            f"sacrebleu {'; '.join(signatures(scores))}",
        ],
    )
    orderings = list(dict.fromkeys(scores["ordering"]))
    for one in found:
        words = which(one["target"], one["seed"])
        yield _samples(one["samples"], orderings, f"Translations {words}")
        if _BACKWARD in one:
            title = f"Translations from {one['target']}, seed {one['seed']}"
            yield _samples(one[_BACKWARD], orderings, title)


def signatures(frame: pandas.DataFrame) -> list[str]:
    """Those that sacrebleu gave the scores."""
    return sorted(set(part(frame, "translation")["signature"]))


def _samples(samples: Sequence[Mapping[str, str]], orderings: list[str], title: str) -> Section:
    header = ["source", "reference", *(name for name in orderings if name in samples[0])]
    return Section(title, header=header, rows=[[sample[n] for n in header] for sample in samples])


def translators(found: Sequence[Mapping[str, Any]]) -> str:
    """The models that translate."""
    both = any(_BACKWARD in one for one in found)
    return "forward and backward model" if both else "forward model"
