"""The demonstration's results: a table, curves, figures, neighbours, and the commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.provenance import machine, provenance, versions
from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.report import (
    Section,
    commands_section,
    versions_section,
    write_report,
)
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import write_csv
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


def write_demo_report(
    run: Path, scale: Scale, seed: int, precision: str, steps: Sequence[Step]
) -> None:
    """Write ``report.html`` into ``run``, and its numbers as JSON, CSV and text."""
    models = {name: _read_model(run, name, scale, SOURCE, TARGET) for name in MODELS}
    header, rows = _summary(models)
    settings = [*_settings(scale, seed), ("precision", precision)]
    migration, transfer = read_migration(run), read_transfer(run)
    curves = [
        [name, split, key, update, value]
        for name, model in models.items()
        for split in ("train", "valid")
        for key, points in model[split].items()
        for update, value in points
    ]
    write_csv(run / "curves.csv", ["model", "split", "curve", "update", "value"], curves)
    neighbours = _neighbour_table(models["default"], SOURCE)
    write_csv(run / "neighbours.csv", *neighbours)
    with atomic_write(run / "summary.txt", "w") as file:
        file.write("\n".join(five_lines(models, transfer, migration)) + "\n")
    write_json(
        run / "results.json",
        {
            "models": models,
            "transfer": transfer,
            "migration": migration,
            "summary": {"header": header, "rows": rows, "gap_closed": gap_closed(migration)},
            "settings": dict(settings),
            "versions": versions(),
            "machine": machine(),
            "provenance": provenance({}),
        },
    )
    shared = models["default"]
    score, chance = shared["scores"]["retrieval"], shared["chance"]["retrieval"]
    lead = [
        f"Two masked language models of {SOURCE} and {TARGET} were trained without parallel text: "
        "one shares all parameters, the other has a private copy of each parameter per language.",
        f"At its best layer the shared model retrieves {score:.1%} of {round(1 / chance):,} "
        f"translations, {score / chance:.0f} times chance; without sharing it is "
        f"{models['separate']['scores']['retrieval']:.1%}.",
        "The English parts of the second model, migrated to German, translate held-out text with "
        f"BLEU {migration['translation']['predicted']['bleu']:.1f} in the predicted order; "
        f"{order_gain(migration)}.",
    ]
    sections = [
        Section(
            "Results at the chosen checkpoint",
            text=f"The checkpoint is the one with the lowest {SOURCE} validation perplexity; "
            f"{TARGET} plays no part in the choice.",
            header=header,
            rows=rows,
            notes=[*shared["notes"], *(f"{NAMES[n]}: {MODELS[n][2]}" for n in MODELS)],
        ),
        Section("Loss per language", svg=_loss_figure(models, SOURCE, TARGET)),
        Section(
            "Sentence retrieval by layer",
            text="A sentence is represented by the mean of its subword states; its nearest "
            "neighbour by cosine should be its translation.",
            svg=_layer_figure(models, SOURCE, TARGET),
        ),
        Section(
            "Retrieval over training",
            text="Alignment emerges during training. In long trainings of small models it can "
            "decay again while perplexity still falls, so the curve also marks the checkpoint that "
            "was chosen without looking at it.",
            svg=_training_figure(models, SOURCE),
        ),
        Section(
            "Nearest words",
            text=f"The most frequent {SOURCE} words of the dictionary and their three nearest "
            f"{TARGET} words in the shared model, layer {shared['scores']['word_layer']}. A check "
            "mark shows translations listed in the dictionary.",
            header=neighbours[0],
            rows=neighbours[1],
        ),
        transfer_section(transfer, NAMES),
        *migration_sections(migration),
        Section("Settings", header=["setting", "value"], rows=settings),
        versions_section(),
        commands_section(steps),
    ]
    write_report(
        run / "report.html", "Cross-lingual structure without parallel text", lead, sections
    )


def five_lines(
    models: dict[str, Any], transfer: dict[str, Any], migration: dict[str, Any]
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


def _read_model(run: Path, name: str, scale: Scale, source: str, target: str) -> dict[str, Any]:
    """Everything that the run measured about one model, as JSON values."""
    log = run / "logs" / f"train-{name}.log"
    chosen = read_json(run / "results" / f"{name}.chosen.json")["results"][0]["measures"]
    training = read_json(run / "results" / f"{name}.training.json")["results"]
    keys = {f"mlm_{lang}_{unit}" for lang in (source, target) for unit in ("loss", "ppl")}
    curves = {
        split: {key: points for key, points in read_curves(log, tag).items() if key in keys}
        for split, tag in (("train", "train_inner"), ("valid", "valid"))
    }
    every = scale.training.every
    return {
        **curves,
        "parameters": parameter_count(log),
        "chosen_update": chosen_update(log, source),
        "scores": {
            **chosen["retrieval"]["scores"][target],
            **chosen["words"]["scores"][target],
            **{f"bpw_{lang}": chosen["bpw"]["scores"][lang]["bpw"] for lang in (source, target)},
        },
        "chance": {**chosen["retrieval"]["chance"][target], **chosen["words"]["chance"][target]},
        "layers": chosen["retrieval"]["details"]["layers"][target],
        "over_training": [
            [every * number, record["measures"]["retrieval"]["details"]["layers"][target]]
            for number, record in enumerate(training, start=1)
        ],
        "neighbours": chosen["words"]["details"][target]["neighbours"],
        "notes": [*chosen["retrieval"]["notes"], *chosen["words"]["notes"]],
    }


def _summary(models: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    rows: list[list[Any]] = []
    for name, title in (
        ("retrieval", "sentence retrieval, P@1, best layer"),
        ("word_mrr", "word retrieval, MRR, best layer"),
        ("word_p1", "word retrieval, P@1, same layer"),
    ):
        chance = models["default"]["chance"][name]
        scores = [model["scores"][name] for model in models.values()]
        rows.append([title, *scores, chance, f"{scores[0] / chance:.0f} x"])
    rows += [
        ["best layer for sentences", *(m["scores"]["retrieval_layer"] for m in models.values())],
        ["chosen checkpoint, update", *(m["chosen_update"] for m in models.values())],
        ["parameters", *(model["parameters"] for model in models.values())],
    ]
    header = ["", *(NAMES[name] for name in models), "chance", "shared/chance"]
    return header, [[*row, *[None] * (len(header) - len(row))] for row in rows]


def _settings(scale: Scale, seed: int) -> list[tuple[str, Any]]:
    training, migrating = scale.training, dataclasses.asdict(scale.migration)
    return [
        ("training sentences per language", scale.sentences),
        ("held-out sentence pairs", scale.held_out),
        ("most words in a vocabulary", scale.vocab_size),
        ("annotated training sentences", scale.annotated),
        ("architecture", training.arch),
        ("optimiser steps", training.updates),
        ("tokens per step", f"at most {training.max_tokens:,}"),
        ("peak learning rate", str(training.lr)),
        ("seed of corpus and training", str(seed)),
        *((f"migration: {name.replace('_', ' ')}", value) for name, value in migrating.items()),
    ]


def _mean(layers: Sequence[Sequence[float]]) -> list[float]:
    return [sum(pair) / len(pair) for pair in layers]


def _loss_figure(models: dict[str, Any], source: str, target: str) -> str:
    panels = []
    for name, model in models.items():
        lines = []
        for style, lang in enumerate((source, target)):
            for split, marked in (("train", False), ("valid", True)):
                points = model[split].get(f"mlm_{lang}_loss", [])
                label = f"{lang}, {'training' if split == 'train' else 'validation'}"
                x, y = zip(*points, strict=True) if points else ((), ())
                lines.append(Line(label, x, y, style, marked))
        panels.append(
            Panel(
                lines,
                xlabel="optimiser steps",
                ylabel="loss (bits per masked word)",
                title=NAMES[name],
                chosen=(model["chosen_update"], "chosen"),
            )
        )
    return to_svg(draw(panels))


def _layer_figure(models: dict[str, Any], source: str, target: str) -> str:
    lines = []
    for style, (name, model) in enumerate(models.items()):
        layers = list(range(len(model["layers"])))
        lines.append(Line(f"{NAMES[name]} (mean)", layers, _mean(model["layers"]), style))
    shared = models["default"]["layers"]
    for direction, label in enumerate((f"{source} to {target}", f"{target} to {source}")):
        y = [pair[direction] for pair in shared]
        lines.append(Line(f"{NAMES['default']}, {label}", range(len(y)), y, direction + 2))
    chance = models["default"]["chance"]["retrieval"]
    panel = Panel(
        lines,
        xlabel="layer (0 = embedding output)",
        ylabel="sentence retrieval, P@1",
        chance=(chance, f"chance ({chance:.4f})"),
        whole=True,
    )
    return to_svg(draw([panel]))


def _training_figure(models: dict[str, Any], source: str) -> str:
    retrieval, perplexity = [], []
    for style, (name, model) in enumerate(models.items()):
        x = [update for update, _ in model["over_training"]]
        y = [max(_mean(layers)) for _, layers in model["over_training"]]
        retrieval.append(Line(NAMES[name], x, y, style))
        points = model["valid"].get(f"mlm_{source}_ppl", [])
        u, v = zip(*points, strict=True) if points else ((), ())
        perplexity.append(Line(NAMES[name], u, v, style))
    shared = models["default"]
    chance = shared["chance"]["retrieval"]
    chosen = (shared["chosen_update"], "chosen (shared)")
    return to_svg(
        draw(
            [
                Panel(
                    retrieval,
                    xlabel="optimiser steps",
                    ylabel="sentence retrieval, P@1, best layer",
                    chance=(chance, f"chance ({chance:.4f})"),
                    chosen=chosen,
                ),
                Panel(
                    perplexity,
                    xlabel="optimiser steps",
                    ylabel=f"{source} validation perplexity",
                    chosen=chosen,
                    log=True,
                ),
            ]
        )
    )


def _neighbour_table(model: dict[str, Any], source: str) -> tuple[list[str], list[list[str]]]:
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
    return [f"{source} word", "nearest", "second", "third"], rows
