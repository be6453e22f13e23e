"""The results of ``trelm run``: bits per word, translations, losses and the cost."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from fairseq_xling.analysis.sampled_bleu import ORDERS
from fairseq_xling.files import atomic_write
from fairseq_xling.interop.sources import folder_family
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts
from fairseq_xling.papers.trelm.results import (
    PAPER,
    Cost,
    Migration,
    cost_table,
    read_artifacts,
    seeds_of,
    which,
)
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, Table, caption
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
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

FAULTS = (
    "Words: F1 of the words, whatever their order. Order: pairs of unambiguous words in the order "
    "of the reference. Repeated: words that repeat the one before them. All in percent."
)


def write_run(
    run: Path, config: TrelmConfig, artifacts: Sequence[Artifacts], steps: Sequence[Step]
) -> None:
    """Write `FILES` into ``run``."""
    found = [read_artifacts(config, one) for one in artifacts]
    record = {"config": dataclasses.asdict(config), "migrations": found}
    record["source_family"] = folder_family(config.source)
    write_results(TrelmRun, run, record, {}, steps)
    tables = {
        "Bits per word": phase_table(found),
        f"Translation, {translators(found)}": bleu_table(found),
        "Tasks": task_table(found),
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
        config, found = result.record["config"], result.record["migrations"]
        targets = ", ".join(dict.fromkeys(one["target"] for one in found))
        losses = caption(result, PAPER, "Unit: bits per predicted subword.")
        return Page(
            title=f"Migration to {targets}",
            source=f"{PAPER}, Algorithm 1",
            lead=[
                f"The encoder {config['source']} was migrated from {_source(found)} to {targets}: "
                "new words, then commonality training, transfer in both directions, combination, "
                f"and training on the target language alone ({PAPER}, Algorithm 1)."
            ],
            sections=[
                _bits(result, found),
                *translation_sections(result, [one for one in found if one["translation"]]),
                *_tasks(found),
                *maps(found),
                *(
                    Section(f"Loss, {which(one)}", figure=_losses(one), notes=losses)
                    for one in found
                ),
                *map(_cost, found),
            ],
            tables={
                "curves": _curve_rows(found),
                "phases": _phase_rows(found),
                "translation": bleu_rows(found),
                "cost": _cost_rows(found),
            },
            # Runs of before name no family.
            measured=list(_measured(found, result.record.get("source_family", ""))),
        )


def phase_table(found: Sequence[Migration]) -> Table:
    """Bits per word of both languages after each phase, over seeds."""
    source = _source(found)
    header = ["target", "seed", "after", "steps", f"bits per word, {source}"]
    rows = [
        [
            *(one["target"], one["seed"], phase["phase"], phase["steps"]),
            *(phase["bpw"][source], phase["bpw"][one["target"]]),
        ]
        for one in found
        for phase in one["phases"]
    ]
    return merge_seeds([*header, "bits per word, target"], rows, [3, 3])


def maps(found: Sequence[Migration]) -> list[Section]:
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


def task_table(found: Sequence[Migration]) -> Table:
    """The figures of the tasks of each migration; no rows if there are no tasks."""
    # Runs of before have none.
    titles = list(dict.fromkeys(title for one in found for title, _ in one.get("tasks", ())))
    rows = [
        [one["target"], one["seed"], *(value for _, value in one["tasks"])]
        for one in found
        if titles
    ]
    return merge_seeds(["target", "seed", *titles], rows, [2] * len(titles))


def _tasks(found: Sequence[Migration]) -> Iterator[Section]:
    header, rows = task_table(found)
    if rows:
        yield Section("Tasks", text=TASKS, header=header, rows=rows)


def _source(found: Sequence[Migration]) -> str:
    """The source language."""
    one = found[0]
    return next(lang for lang in one["phases"][0]["bpw"] if lang != one["target"])


def _bits(result: Result, found: Sequence[Migration]) -> Section:
    unit, split = "bits per masked subword", result.record["config"]["bpw_split"]
    header, rows = phase_table(found)
    source, panels = _source(found), []
    for one in found:
        chance = one["uniform_bpw"][one["target"]]
        bars = [
            Bars(
                f"{lang} (target)" if lang == one["target"] else lang,
                [phase["bpw"][lang] for phase in one["phases"]],
            )
            for lang in (source, one["target"])
        ]
        names, words = [phase["phase"] for phase in one["phases"]], f"chance ({chance:.1f})"
        panels.append(BarPanel(names, bars, unit, which(one), (chance, words)))
    notes = caption(result, f"{PAPER}, Algorithm 1 and A.7", seeds_of(found), f"Unit: {unit}.")
    for one in found:
        chance = one["uniform_bpw"]
        values = ", ".join(f"{chance[lang]:.2f} ({lang})" for lang in (source, one["target"]))
        notes.append(f"Chance is {values} bits per word with the words of {one['target']}.")
    text = f"With the same masks of the {split} text for all checkpoints; lower is better."
    title, figure = "Bits per word after each phase", partial(draw_bars, panels)
    return Section(title, text, figure, header, rows, notes=list(dict.fromkeys(notes)))


def _losses(one: Migration) -> Drawing:
    panels = []
    for phase in (cost["phase"] for cost in one["cost"]["trainings"]):
        lines, splits = [], one["curves"][phase]
        keys = sorted({key for found in splits.values() for key in found} - UNDRAWN)
        for style, key in enumerate(keys):
            for split, found in splits.items():
                if points := found.get(key):
                    x, y = zip(*points, strict=True)
                    lines.append(Line(curve_words(key, split), x, y, style, split == "valid"))
        panels.append(
            Panel(lines, xlabel="optimiser steps", ylabel="bits per predicted subword", title=phase)
        )
    return partial(draw, panels)


def _cost(one: Migration) -> Section:
    header, rows = cost_table(one["cost"])
    sentences = ", ".join(f"{n:,} of {lang}" for lang, n in one["data"]["sentences"].items())
    pairs = ", ".join(f"{n:,} of {pair}" for pair, n in one["data"]["pairs"].items()) or "none"
    return Section(
        f"Cost of {one['target']}, seed {one['seed']}",
        text=f"Training sentences: {sentences}; sentence pairs: {pairs}. Both directions of "
        "transfer are trained; the paper counts them as one.",
        header=header,
        rows=rows,
        notes=["Minutes are fairseq-train's running time, without interruptions."],
    )


def _curve_rows(found: Sequence[Migration]) -> Table:
    return ["target", "seed", "phase", "split", "curve", "update", "value"], [
        [one["target"], one["seed"], phase, split, key, update, value]
        for one in found
        for phase, curves in one["curves"].items()
        for split, keys in curves.items()
        for key, points in keys.items()
        for update, value in points
    ]


def _phase_rows(found: Sequence[Migration]) -> Table:
    return ["target", "seed", "phase", "steps", "language", "bits per word"], [
        [one["target"], one["seed"], phase["phase"], phase["steps"], lang, value]
        for one in found
        for phase in one["phases"]
        for lang, value in phase["bpw"].items()
    ]


def _cost_rows(found: Sequence[Migration]) -> Table:
    header = [*(field.name for field in dataclasses.fields(Cost)), "device_days"]
    return ["target", "seed", *header], [
        [one["target"], one["seed"], *map(cost.get, header)]
        for one in found
        for cost in one["cost"]["trainings"]
    ]


def _measured(found: Sequence[Migration], family: str) -> Iterator[Measured]:
    for one in found:
        target, days = one["target"], one["cost"]["sums"]["device_days"]
        last = one["phases"][-1]["bpw"][target]
        row = FAMILY_ROWS.get(family, "T9")
        yield Measured(row, f"bits per word of {target} at the end", last)
        if target != found[0]["target"]:
            yield Measured("T26", f"bits per word of the further target {target} at the end", last)
        yield Measured("T25", f"device-days of a migration to {target}", days)
        if scores := one["translation"].get("identity"):
            what = f"1-gram precision to {target} in the source's order, percent"
            yield Measured("T18", what, scores["precisions"][0])
        if scores := one["translation"].get("identity, backward"):
            what = f"1-gram precision from {target} in its own order, percent"
            yield Measured("T18", what, scores["precisions"][0])


def bleu_table(found: Sequence[Migration]) -> Table:
    """n-gram precisions, the cumulative score and where it is lost, of every ordering, over
    seeds."""
    header, rows = bleu_rows(found)
    digits = [1] * ORDERS + [2, 3, 3, 2, 1, 1, 1]
    return merge_seeds(header[:-1], [row[:-1] for row in rows], digits)


def translation_sections(result: Result, found: Sequence[Migration]) -> Iterator[Section]:
    """Scores of all, then sentences of each migration; nothing if none has translated."""
    if not found:
        return
    header, rows = bleu_table(found)
    names = [*(f"{n}-gram precision" for n in range(1, ORDERS + 1)), "BLEU"]
    panels = [
        BarPanel(
            names,
            [
                Bars(name, [*scores["precisions"], scores["bleu"]])
                for name in one["orderings"]
                if (scores := one["translation"][name])
            ],
            "percent",
            which(one),
        )
        for one in found
    ]
    yield Section(
        f"Translation with the {translators(found)}",
        text="All words are predicted at once; the orderings differ in the source position of each "
        "target word.",
        figure=partial(draw_bars, panels),
        header=header,
        rows=rows,
        notes=[
            *caption(result, f"{PAPER}, Table 6", seeds_of(found)),
            "Precisions as printed by sacrebleu, in percent, without smoothing; BLEU is their "
            "geometric mean times the brevity penalty. References are the data folder's subwords "
            "joined again.",
            FAULTS,
            f"sacrebleu {'; '.join(signatures(found))}",
        ],
    )
    for one in found:
        yield _samples(one, "samples", f"Translations {which(one)}")
        if _BACKWARD in one:
            yield _samples(one, _BACKWARD, f"Translations from {one['target']}, seed {one['seed']}")


def signatures(found: Sequence[Migration]) -> list[str]:
    """Those that sacrebleu gave the scores."""
    return sorted(
        {
            value
            for one in found
            for scores in one["translation"].values()
            for name, value in scores.items()
            if name.endswith("signature")
        }
    )


def _samples(one: Migration, name: str, title: str) -> Section:
    samples = one[name]
    header = ["source", "reference", *(n for n in one["orderings"] if n in samples[0])]
    return Section(title, header=header, rows=[[sample[n] for n in header] for sample in samples])


def translators(found: Sequence[Migration]) -> str:
    """The models that translate."""
    both = any(_BACKWARD in one for one in found)
    return "forward and backward model" if both else "forward model"


def bleu_rows(found: Sequence[Migration]) -> Table:
    """The same as numbers, with sacrebleu's signature."""
    precisions = [f"{order}-gram precision" for order in range(1, ORDERS + 1)]
    # By column. Runs of before have no chrF and no faults.
    names = {
        "BLEU": "bleu",
        "brevity penalty": "brevity_penalty",
        "length ratio": "length_ratio",
        "chrF": "chrf",
        "words": "words",
        "order": "order",
        "repeated": "repeated",
        "signature": "signature",
    }
    return ["target", "seed", "ordering", *precisions, *names], [
        [
            *(one["target"], one["seed"], ordering, *scores["precisions"]),
            *map(scores.get, names.values()),
        ]
        for one in found
        for ordering in one["orderings"]
        if (scores := one["translation"][ordering])
    ]
