"""The demonstration's record: what it measured of both models and of the migration, and its page.

The ``kind`` of a row is `curve` of a training, by ``split``; `eval` of a chosen checkpoint and
`training` of every checkpoint after its ``steps``; `near` word; `transfer`; `bits`, `translation`
and `sample` of the migration, see `papers.trelm.results`, and `gap`, how much of it word order
closes. The first table shows those that say ``what`` they are there.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import atomic_write
from fairseq_xling.engine.training_log import parameter_count, read_curves
from fairseq_xling.reports.page import sentence, write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, read_record
from fairseq_xling.reports.rows import GIVEN, Row, distinct, figures, select
from fairseq_xling.studies.demo.plan import MIGRATION, MODELS, SHOWN, SOURCE, TARGET, Scale
from fairseq_xling.studies.gold_tasks import TASKS, tested_scores
from fairseq_xling.studies.training_command import chosen_update
from fairseq_xling.verbs.measures.words import NEIGHBOUR
from fairseq_xling.workflow.recipe import with_steps
from fairseq_xling.workflow.step import Step

NAMES = {"default": "shared", "separate": "nothing shared"}
SHARED, CONTROL = NAMES.values()
FILES = ("report.html", "results.json", "summary.txt", "table.csv", "table.md")
MEAN = "cosine mean"  # of both directions
PAPER = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1.3"
SENTENCES, WORDS = "sentence retrieval, P@1, best layer", "word retrieval, MRR, best layer"
MAPPED = "sentence retrieval with a map, P@1, last layer"
UPDATE = "chosen checkpoint, update"
GAP = "share of the gap closed by word order"
METHODS = {
    "identity": "identity: order and length of the source (the paper's)",
    "predicted": "predicted: order and length predicted by the model",
    "oracle": "oracle: order and length of the reference",
    "lattice": "slots: words and their order at once, learnt after the forward model (a lattice)",
}
_WHAT = {
    ("retrieval", "mean"): SENTENCES,
    ("words", "MRR"): WORDS,
    ("words", "P@1"): "word retrieval, P@1, same layer",
}
_TIMES = f"{SHARED}, times chance"
_SPLITS = {"train_inner": "training", "valid": "validation"}
_SCORES = ("BLEU", *(f"{n}-gram precision" for n in range(1, 5)), "length ratio")


def write_demo(run: Path, scale: Scale, seed: int, precision: str, steps: Sequence[Step]) -> None:
    """Write `FILES` into ``run``."""
    rows: list[Row] = []
    for name in NAMES:
        log, results = run / "logs" / f"train-{name}.log", run / "results"
        chosen = read_record(results / f"{name}.chosen.json")
        training = read_record(results / f"{name}.training.json").rows
        counts = {UPDATE: chosen_update(log, SOURCE), "parameters": parameter_count(log)}
        curves = {tag: read_curves(log, tag) for tag in _SPLITS}
        every = scale.training.every
        mapped = read_record(results / f"{name}.mapped.json").rows
        rows += model_rows(name, chosen.rows, mapped, training, every, counts, curves)
    for task in SHOWN:  # both models' heads in each language, in percent
        of = {"kind": "transfer", "task": task, "measure": TASKS[task].title, "unit": "%"}
        for one in tested_scores(run / "transfer" / task):
            model = {"row": NAMES[one["encoder"]], "target": one["target"]}
            rows.append({**of, **model, "value": one["value"]})
    rows += migration_rows(read_record(run / MIGRATION).rows)
    notes = [note for section in chosen.sections[:2] for note in section.notes]
    about = {"paper": "emerging", "seed": seed}
    own = [{**about, **row, "study": "demo"} for row in rows]
    record = Record(
        "Cross-lingual structure without parallel text",
        [{name: value for name, value in row.items() if value is not None} for row in own],
        (*_of_models(own, notes), *_of_migration(own)),
        source=PAPER,
        lead=[
            f"Two masked language models of {SOURCE} and {TARGET} were trained without parallel "
            "text: one shares all parameters, the other has a private copy of each parameter per "
            "language. Its English parts were then migrated to German.",
            *map(sentence, summary_lines(own)),
        ],
        config={**_settings(scale, seed), "precision": precision},
    )
    write_run(run, with_steps(made(record, {}), run, steps))
    with atomic_write(run / "summary.txt", "w") as file:
        file.write("\n".join(summary_lines(rows)) + "\n")


def model_rows(
    name: str,
    chosen: Iterable[Row],
    mapped: Sequence[Row],
    training: Sequence[Row],
    every: int,
    counts: Mapping[str, int],
    curves: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]],
) -> Iterator[Row]:
    """What `eval` measured of a model's ``chosen`` checkpoint, `eval tatoeba` of its ``mapped``
    states, and `eval` in ``training`` of that after ``every`` steps, after twice as many, and so
    on; and the ``curves`` of its log, by tag."""
    of = {"row": NAMES[name]}

    def times_chance(row: Row, what: str) -> Iterator[Row]:
        if name == "default":
            times = row["value"] / row["chance"]
            yield {**row, "row": _TIMES, "kind": "times", "what": what, "value": times}

    for row in chosen:
        if row["measure"] == NEIGHBOUR:
            if name == "default":
                text = f"{row['nearest']} ({row['value']:.2f}){' ✓' * (row['right'] == 'yes')}"
                place = ("nearest", "second", "third")[row["rank"] - 1]
                near = {"measure": "near word", "place": place, "value": text}
                yield {**row, **of, "kind": "near", "cosine": row["value"], **near}
        elif row.get("best") and (what := _WHAT.get((row["task"], row["measure"]))):
            yield {**row, **of, "kind": "eval", "what": what}
            yield from times_chance(row, what)
            if what == SENTENCES:
                counts = {"best layer for sentences": row["layer"], **counts}
        else:
            yield {**row, **of, "kind": "eval"}
    last = max(row["layer"] for row in mapped)
    for row in select(mapped, {"layer": last, "measure": MEAN}):
        yield {**row, **of, "kind": "eval", "what": MAPPED}
        yield from times_chance(row, MAPPED)
    for what, count in counts.items():
        yield {**of, "kind": "model", "what": what, "measure": what, "value": count}
    for number, checkpoint in enumerate(distinct(training, "row"), start=1):
        for row in select(training, {"row": checkpoint}):
            yield {**row, **of, "kind": "training", "steps": every * number}
    for tag, split in _SPLITS.items():
        for lang in (SOURCE, TARGET):
            for unit, measure in (("loss", "loss"), ("ppl", "perplexity")):
                about = {"kind": "curve", "split": split, "target": lang, "measure": measure}
                for steps, value in curves[tag].get(f"mlm_{lang}_{unit}", ()):
                    yield {**of, **about, "steps": steps, "value": value}


def migration_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """What is shown of the rows of a migration, in the order of `METHODS`, and the share of BLEU
    between the source's order and the reference's that prediction recovers.

    >>> of = {"kind": "translation", "measure": "BLEU"}
    >>> found = {"oracle": 20.0, "identity": 10.0, "predicted": 15.0}
    >>> *_, gap = migration_rows({**of, "ordering": n, "value": v} for n, v in found.items())
    >>> gap["measure"], gap["value"]
    ('share of the gap closed by word order', 0.5)
    """
    found = select(rows, {"kind": ["bits", "translation", "sample"]})
    order = [*METHODS, *distinct(found, "ordering")]
    found.sort(key=lambda row: order.index(row.get("ordering")))
    for row in found:
        name = row.get("ordering")
        yield {**row, "row": "migrated", "method": METHODS.get(str(name), name)}
    bleu = bleu_of(found)
    if (gap := bleu["oracle"] - bleu["identity"]) > 0:
        closed = (bleu["predicted"] - bleu["identity"]) / gap
        yield {"kind": "gap", "row": "migrated", "target": TARGET, "measure": GAP, "value": closed}


def bleu_of(rows: Iterable[Row]) -> dict[str, float]:
    """BLEU of each method of translation."""
    found = select(rows, {"kind": "translation", "measure": "BLEU"})
    return {row["ordering"]: row["value"] for row in found}


def order_gain(rows: Iterable[Row]) -> str:
    """`GAP` in words."""
    for row in select(rows, {"kind": "gap"}):
        return f"predicting it closes {row['value']:.0%} of the gap between identity and oracle"
    return "the reference's order does not translate better than the source's yet"


def summary_lines(rows: Sequence[Row]) -> list[str]:
    """What the demonstration shows, as it is printed at the end."""
    shared, control = select(rows, {"kind": "eval", "what": SENTENCES})
    mapped, control_mapped = select(rows, {"kind": "eval", "what": MAPPED})
    chance = shared["chance"]
    tested = figures(select(rows, {"kind": "transfer", "target": TARGET}), "row", "measure")
    heads = [
        f"{title} {value:.1f} ({tested[CONTROL, title][0]:.1f})"
        for (name, title), (value,) in tested.items()
        if name == SHARED and value >= 3 * tested[CONTROL, title][0]  # else the table has it
    ]
    scores = bleu_of(rows)
    bleu = [f"{name} {value:.1f}" for name, value in scores.items()]
    best = max((name for name in scores if name != "oracle"), key=scores.__getitem__)
    (sample,) = select(rows, {"kind": "sample", "number": 1, "ordering": best})
    return [
        f"Shared encoder: retrieves {shared['value']:.1%} of {round(1 / chance):,} German "
        f"translations of English sentences, {shared['value'] / chance:.0f} x chance; with a map "
        f"learnt from other pairs {mapped['value']:.1%}",
        f"Control that shares nothing: {control['value']:.1%}, "
        f"{control['value'] / chance:.1f} x chance; with a map {control_mapped['value']:.1%}",
        f"Zero-shot from English to German, in % (control): {', '.join(heads)}"
        if heads
        else "Zero-shot from English to German: no head has three times its control yet",
        f"Migrated encoder translates into German, BLEU: {', '.join(bleu)}",
        f"Word order: {order_gain(rows)}",
        f"Translated: {sample['text']} -> {sample['value']} (reference: {sample['reference']})",
    ]


def _settings(scale: Scale, seed: int) -> dict[str, Any]:
    training, migrating = scale.training, dataclasses.asdict(scale.migration)
    return {
        "training sentences per language": scale.sentences,
        "held-out sentence pairs": scale.held_out,
        "most words in a vocabulary": scale.vocab_size,
        "annotated training sentences": scale.annotated,
        "architecture": training.arch,
        "optimiser steps": training.updates,
        "tokens per step": f"at most {training.max_tokens:,}",
        "peak learning rate": training.lr,
        "seed of corpus and training": seed,
        **{f"migration: {name.replace('_', ' ')}": value for name, value in migrating.items()},
    }


def _of_models(rows: Sequence[Row], notes: Sequence[str]) -> Iterator[Section]:
    yield Section(
        "Results at the chosen checkpoint",
        Table(
            {"": "what"},
            "row",
            {"what": GIVEN},
            order=[SHARED, CONTROL, _TIMES],
            digits={_TIMES: 0},
            after={"chance": "chance"},
        ),
        notes=[*notes, *(f"{title}: {MODELS[name][2]}" for name, title in NAMES.items())],
        text=f"The checkpoint is the one with the lowest {SOURCE} validation perplexity; {TARGET} "
        "plays no part in the choice.",
        name="table",
    )
    updates = {row["row"]: row["value"] for row in select(rows, {"what": UPDATE})}
    by_layer = functools.partial(Chart, "curve", panel="kind", chance="chance ({chance})")
    by_steps = functools.partial(by_layer, x="steps", xlabel="optimiser steps")
    marked = functools.partial(by_steps, marks={"": (updates[SHARED], f"chosen ({SHARED})")})
    loss = by_steps(
        where={"kind": "curve", "measure": "loss"},
        row="{target}, {split}",
        panel="row",
        title="{row}",
        ylabel="loss (bits per masked word)",
        marks={name: (update, "chosen") for name, update in updates.items()},
    )
    yield Section("Loss per language", chart=loss)
    lines = [f"{SHARED}, mean", f"{CONTROL}, mean", f"{SHARED}, forward", f"{SHARED}, backward"]
    layers = by_layer(
        where={"kind": "eval", "task": "retrieval"},
        row="{row}, {measure}",
        xlabel="layer (0 = embedding output)",
        ylabel="sentence retrieval, P@1",
        rows=lines,
    )
    yield Section(
        "Sentence retrieval by layer",
        chart=layers,
        text="A sentence is represented by the mean of its subword states; its nearest neighbour "
        f"by cosine should be its translation. Forward is from {SOURCE} to {TARGET}.",
    )
    best = {"kind": "training", "measure": "mean", "best": 1}
    yield Section(
        "Retrieval over training",
        chart=marked(where=best, ylabel=SENTENCES),
        text="Alignment emerges during training. In long trainings of small models it can decay "
        "again while perplexity still falls, so the curve also marks the checkpoint that was "
        "chosen without looking at it.",
    )
    chosen_by = {"measure": "perplexity", "split": "validation", "target": SOURCE}
    ylabel = f"{SOURCE} validation perplexity"
    yield Section("Perplexity over training", chart=marked(where=chosen_by, ylabel=ylabel, log="y"))
    layer = select(rows, {"kind": "near"})[0]["layer"]
    yield Section(
        "Nearest words",
        Table({f"{SOURCE} word": "word"}, "place", {"kind": "near"}),
        text=f"The most frequent {SOURCE} words of the dictionary and their three nearest {TARGET} "
        f"words in the shared model, layer {layer}. A check mark shows translations listed in the "
        "dictionary.",
    )
    of = {"fine-tuned on English (%)": "measure"}
    yield Section(
        f"Zero-shot transfer from {SOURCE} to {TARGET}",
        Table(of, "{row}, {target}", {"kind": "transfer"}, digits=1),
        text="Heads for parts of speech (accuracy), names (span F1) and dependency trees (labelled "
        "attachment) are trained on annotated English. Their score on German, which they never "
        "saw, measures how alike the states of the two languages are. Parameters private to one "
        "language are frozen: in the model that shares nothing, that is the whole encoder except "
        "the layer norm of its embeddings.",
    )


def _of_migration(rows: Sequence[Row]) -> Iterator[Section]:
    bits = [f"bits per word, {lang}" for lang in (SOURCE, TARGET)]
    phases = {"checkpoint": "phase", "steps": "steps"}
    yield Section(
        f"Migration from {SOURCE} to {TARGET}: bits per word after each phase",
        Table(phases, "{measure}, {language}", {"kind": "bits"}, order=bits),
        text="The English parts of the model that shares nothing, migrated to German by TreLM. All "
        "rows use the same masks; fewer bits are better. English gets worse, as the model turns to "
        "German: after the forward phase it reads English only to write German.",
    )
    scores = {"kind": "translation", "measure": _SCORES}
    digits = {"length ratio": 3, "*": 1}
    yield Section(
        f"Translation from {SOURCE} to {TARGET}",
        Table({"translation": "method"}, where=scores, order=_SCORES, digits=digits),
        notes=[f"Word order: {order_gain(rows)}"],
        text="The forward model predicts all words of a sentence at once. Where an autoregressive "
        "model is listed, it has the same width and was trained on the same sentence pairs for the "
        "same wall time.",
    )
    samples = {"": "number", "source": "text", "reference": "reference"}
    yield Section("Ten translations", Table(samples, "ordering", {"kind": "sample"}))
