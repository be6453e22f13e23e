"""The demonstration's results: a table, curves, figures, neighbours, and the commands.

Figures are panels of lines; both models are in each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, Table, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.tables import write_csv
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import chosen_update
from fairseq_xling.runs.training_log import parameter_count, read_curves
from fairseq_xling.studies.demo.migration import (
    gap_closed,
    migration_sections,
    order_gain,
    read_migration,
    translations,
)
from fairseq_xling.studies.demo.scale import MODELS, SOURCE, TARGET, Scale
from fairseq_xling.studies.demo.transfer import read_transfer, transfer_section
from fairseq_xling.studies.gold_tasks import TASKS

NAMES = {"default": "shared", "separate": "nothing shared"}
Models = Mapping[str, Mapping[str, Any]]
_STEPS = "optimiser steps"
FILES = (
    *("report.html", "results.json", "summary.txt"),
    *("curves.csv", "neighbours.csv", "training.csv"),
)
PAPER = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1.3"
_SUMMARY = {
    "retrieval": "sentence retrieval, P@1, best layer",
    "word_mrr": "word retrieval, MRR, best layer",
    "word_p1": "word retrieval, P@1, same layer",
}


def losses(models: Models) -> list[Panel]:
    """The loss of each language, a panel for each model."""
    return [
        Panel(
            [
                _line(f"{lang}, {words}", models[name][split], f"mlm_{lang}_loss", style, marked)
                for style, lang in enumerate((SOURCE, TARGET))
                for split, words, marked in (
                    ("train", "training", False),
                    ("valid", "validation", True),
                )
            ],
            xlabel=_STEPS,
            ylabel="loss (bits per masked word)",
            title=title,
            chosen=(models[name]["chosen_update"], "chosen"),
        )
        for name, title in NAMES.items()
    ]


def _line(label: str, curves: Mapping[str, Any], key: str, style: int, marked: bool = True) -> Line:
    points = curves.get(key, [])
    x, y = zip(*points, strict=True) if points else ((), ())
    return Line(label, x, y, style, marked)


def by_layer(models: Models) -> list[Panel]:
    """Retrieval by layer; of the shared model also in each direction."""
    lines = []
    for style, (name, title) in enumerate(NAMES.items()):
        means = _means(models[name]["layers"])
        lines.append(Line(f"{title} (mean)", range(len(means)), means, style))
    shared = models["default"]["layers"]
    for direction, label in enumerate((f"{SOURCE} to {TARGET}", f"{TARGET} to {SOURCE}")):
        y = [pair[direction] for pair in shared]
        lines.append(Line(f"{NAMES['default']}, {label}", range(len(y)), y, direction + 2))
    return [
        Panel(
            lines,
            xlabel="layer (0 = embedding output)",
            ylabel="sentence retrieval, P@1",
            chance=_chance(models),
            whole=True,
        )
    ]


def over_training(models: Models) -> list[Panel]:
    """The best layer's retrieval at each checkpoint, and the perplexity that chooses among them."""
    retrieval, perplexity = [], []
    for style, (name, title) in enumerate(NAMES.items()):
        x, layers = zip(*models[name]["over_training"], strict=True)
        retrieval.append(Line(title, x, [max(_means(found)) for found in layers], style))
        perplexity.append(_line(title, models[name]["valid"], f"mlm_{SOURCE}_ppl", style))
    chosen = (models["default"]["chosen_update"], "chosen (shared)")
    return [
        Panel(
            retrieval,
            xlabel=_STEPS,
            ylabel="sentence retrieval, P@1, best layer",
            chance=_chance(models),
            chosen=chosen,
        ),
        Panel(
            perplexity,
            xlabel=_STEPS,
            ylabel=f"{SOURCE} validation perplexity",
            chosen=chosen,
            log=True,
        ),
    ]


def _chance(models: Models) -> tuple[float, str]:
    chance = models["default"]["chance"]["retrieval"]
    return chance, f"chance ({chance:.4f})"


def _means(layers: Sequence[Sequence[float]]) -> list[float]:
    return [sum(pair) / len(pair) for pair in layers]


def write_demo(run: Path, scale: Scale, seed: int, precision: str, steps: Sequence[Step]) -> None:
    """Write `FILES` into ``run``."""
    models = {name: _read_model(run, name, scale) for name in MODELS}
    transfer, migration = read_transfer(run), read_migration(run)
    record = {
        "models": models,
        "transfer": transfer,
        "migration": migration,
        "gap_closed": gap_closed(migration),
        "settings": {**_settings(scale, seed), "precision": precision},
    }
    write_results(Demo, run, record, {}, steps)
    write_csv(run / "curves.csv", *_curve_rows(models))
    with atomic_write(run / "summary.txt", "w") as file:
        file.write("\n".join(five_lines(models, transfer, migration)) + "\n")


def _read_model(run: Path, name: str, scale: Scale) -> dict[str, Any]:
    """Everything that the run measured about one model, as JSON values."""
    log = run / "logs" / f"train-{name}.log"
    chosen = read_json(run / "results" / f"{name}.chosen.json")["results"][0]["measures"]
    training = read_json(run / "results" / f"{name}.training.json")["results"]
    keys = {f"mlm_{lang}_{unit}" for lang in (SOURCE, TARGET) for unit in ("loss", "ppl")}
    curves = {
        split: {key: points for key, points in read_curves(log, tag).items() if key in keys}
        for split, tag in (("train", "train_inner"), ("valid", "valid"))
    }
    every = scale.training.every
    return {
        **curves,
        "parameters": parameter_count(log),
        "chosen_update": chosen_update(log, SOURCE),
        "scores": {
            **chosen["retrieval"]["scores"][TARGET],
            **chosen["words"]["scores"][TARGET],
            **{f"bpw_{lang}": chosen["bpw"]["scores"][lang]["bpw"] for lang in (SOURCE, TARGET)},
        },
        "chance": {**chosen["retrieval"]["chance"][TARGET], **chosen["words"]["chance"][TARGET]},
        "layers": chosen["retrieval"]["details"]["layers"][TARGET],
        "over_training": [
            [every * number, record["measures"]["retrieval"]["details"]["layers"][TARGET]]
            for number, record in enumerate(training, start=1)
        ],
        "neighbours": chosen["words"]["details"][TARGET]["neighbours"],
        "notes": [*chosen["retrieval"]["notes"], *chosen["words"]["notes"]],
    }


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
        "peak learning rate": str(training.lr),
        "seed of corpus and training": str(seed),
        **{f"migration: {name.replace('_', ' ')}": value for name, value in migrating.items()},
    }


def five_lines(
    models: Models, transfer: Mapping[str, Any], migration: Mapping[str, Any]
) -> list[str]:
    """What the demonstration shows, as it is printed at the end."""
    shared, control = models["default"], models["separate"]
    chance = shared["chance"]["retrieval"]
    found = [model["scores"]["retrieval"] for model in (shared, control)]
    bleu = [f"{name} {one['bleu']:.1f}" for name, one in translations(migration).items()]
    heads = [
        f"{TASKS[name].title} {one['default'][TARGET]:.1f} ({one['separate'][TARGET]:.1f})"
        for name, one in transfer.items()
    ]
    return [
        f"Shared encoder: retrieves {found[0]:.1%} of {round(1 / chance):,} German translations of "
        f"English sentences, {found[0] / chance:.0f} x chance",
        f"Control that shares nothing: {found[1]:.1%}, {found[1] / chance:.1f} x chance",
        f"Zero-shot from English to German, in % (control): {', '.join(heads)}",
        f"Migrated encoder translates into German, BLEU: {', '.join(bleu)}",
        f"Word order: {order_gain(migration)}",
    ]


@KINDS.register("demo")
class Demo(Kind):
    """Losses, retrieval by layer and over training, neighbours, heads and the migration."""

    name = "demo"

    def page(self, result: Result) -> Page:
        record = result.record
        models, settings = record["models"], record["settings"]
        neighbours = _neighbour_table(models["default"])
        return Page(
            title="Cross-lingual structure without parallel text",
            source=PAPER,
            lead=_lead(models, record["migration"]),
            sections=[
                _summary(models),
                *_figures(result),
                Section(
                    "Nearest words",
                    text=f"The most frequent {SOURCE} words of the dictionary and their three "
                    f"nearest {TARGET} words in the shared model, layer "
                    f"{models['default']['scores']['word_layer']}. A check mark shows translations "
                    "listed in the dictionary.",
                    header=neighbours[0],
                    rows=neighbours[1],
                ),
                transfer_section(record["transfer"], NAMES),
                *migration_sections(record["migration"]),
                Section("Settings", header=["setting", "value"], rows=list(settings.items())),
            ],
            tables={
                "table": _scores(record),
                "training": _training_rows(models),
                "neighbours": neighbours,
            },
            measured=[
                Measured(row, f"{words}, demo", models["default"]["scores"][key])
                for row, key, words in (
                    ("S7", "retrieval", "sentence P@1 without a map, best layer"),
                    ("S16", "word_mrr", "word MRR, best layer"),
                )
            ],
        )


def _lead(models: Models, migration: Mapping[str, Any]) -> list[str]:
    score, control = (models[name]["scores"]["retrieval"] for name in NAMES)
    chance = models["default"]["chance"]["retrieval"]
    return [
        f"Two masked language models of {SOURCE} and {TARGET} were trained without parallel text: "
        "one shares all parameters, the other has a private copy of each parameter per language.",
        f"At its best layer the shared model retrieves {score:.1%} of {round(1 / chance):,} "
        f"translations, {score / chance:.0f} times chance; without sharing it is {control:.1%}.",
        "The English parts of the second model, migrated to German, translate held-out text with "
        f"BLEU {migration['translation']['predicted']['bleu']:.1f} in the predicted order; "
        f"{order_gain(migration)}.",
        *_of_slots(migration),
    ]


def _of_slots(migration: Mapping[str, Any]) -> list[str]:
    """What the model with slots reaches, if the run has one."""
    found = migration["translation"].get("lattice")
    if found is None:
        return []
    return [
        "Trained further to write whole sentences from slots (a lattice), it needs no order and "
        f"reaches {found['bleu']:.1f}."
    ]


def _summary(models: Models) -> Section:
    rows: list[list[Any]] = []
    for name, title in _SUMMARY.items():
        chance = models["default"]["chance"][name]
        scores = [models[one]["scores"][name] for one in NAMES]
        rows.append([title, *scores, chance, f"{scores[0] / chance:.0f} x"])
    layers = [models[name]["scores"]["retrieval_layer"] for name in NAMES]
    rows.append(["best layer for sentences", *layers, None, None])
    for key, title in (
        ("chosen_update", "chosen checkpoint, update"),
        ("parameters", "parameters"),
    ):
        rows.append([title, *(models[name][key] for name in NAMES), None, None])
    return Section(
        "Results at the chosen checkpoint",
        text=f"The checkpoint is the one with the lowest {SOURCE} validation perplexity; {TARGET} "
        "plays no part in the choice.",
        header=["", *NAMES.values(), "chance", "shared/chance"],
        rows=rows,
        notes=[*models["default"]["notes"], *(f"{NAMES[n]}: {MODELS[n][2]}" for n in NAMES)],
    )


def _figures(result: Result) -> Iterator[Section]:
    models, seed = result.record["models"], result.record["settings"]["seed of corpus and training"]
    figures = (
        ("Loss per language", "", losses(models)),
        (
            "Sentence retrieval by layer",
            "A sentence is represented by the mean of its subword states; its nearest neighbour by "
            "cosine should be its translation.",
            by_layer(models),
        ),
        (
            "Retrieval over training",
            "Alignment emerges during training. In long trainings of small models it can decay "
            "again while perplexity still falls, so the curve also marks the checkpoint that was "
            "chosen without looking at it.",
            over_training(models),
        ),
    )
    notes = caption(result, PAPER, f"Seed {seed}.")
    for title, text, panels in figures:
        yield Section(title, text, partial(draw, panels), notes=notes)


def _curve_rows(models: Models) -> Table:
    return ["model", "split", "curve", "update", "value"], [
        [name, split, key, update, value]
        for name, model in models.items()
        for split in ("train", "valid")
        for key, points in model[split].items()
        for update, value in points
    ]


def _scores(record: Mapping[str, Any]) -> Table:
    """Every score, at the chosen checkpoint."""
    rows: list[list[Any]] = []
    for name, model in record["models"].items():
        for measure, value in model["scores"].items():
            if measure.endswith("_layer"):
                continue
            of, _, lang = measure.rpartition("_")
            about = [lang, of] if of == "bpw" else [TARGET, measure]
            rows.append([NAMES[name], *about, value])
    for task, found in record["transfer"].items():
        title = TASKS[task].title
        rows += [
            [NAMES[name], lang, title, value]
            for name, scores in found.items()
            for lang, value in scores.items()
        ]
    for ordering, found in record["migration"]["translation"].items():
        rows += [[f"migrated, {ordering}", TARGET, name, found[name]] for name in ("bleu", "chrf")]
    return ["model", "language", "measure", "value"], rows


def _training_rows(models: Models) -> Table:
    return ["model", "step", "layer", "forward", "backward"], [
        [NAMES[name], step, layer, *pair]
        for name, one in models.items()
        for step, found in one["over_training"]
        for layer, pair in enumerate(found)
    ]


def _neighbour_table(model: Mapping[str, Any]) -> Table:
    rows = [
        [
            row["word"],
            *(
                f"{near['word']} ({near['cosine']:.2f}){' ✓' if near['right'] else ''}"
                for near in row["nearest"]
            ),
        ]
        for row in model["neighbours"]
    ]
    return [f"{SOURCE} word", "nearest", "second", "third"], rows
