"""The demonstration's results: a table, curves, figures, neighbours, and the commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.runs.demo_migration import (
    migration_sections,
    read_migration,
    translation_rows,
    what_order_wins,
)
from fairseq_xling.runs.demo_transfer import read_transfer, transfer_rows, transfer_section
from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.provenance import machine, provenance, versions
from fairseq_xling.runs.report import (
    Section,
    commands_section,
    versions_section,
    write_report,
)
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import text_table, write_csv
from fairseq_xling.runs.training_command import chosen_update
from fairseq_xling.runs.training_log import parameter_count, read_curves

if TYPE_CHECKING:
    from fairseq_xling.runs.demo import Scale

NAMES = {"default": "shared", "separate": "nothing shared"}


def write_demo_report(
    run: Path, scale: Scale, seed: int, precision: str, steps: Sequence[Step]
) -> None:
    """Write ``report.html`` into ``run``, and its numbers beside it as JSON, CSV and text."""
    from fairseq_xling.runs.demo import MODELS, SOURCE, TARGET

    models = {name: _read_model(run, name, scale, SOURCE, TARGET) for name in MODELS}
    header, rows = _summary(models)
    table = text_table(header, rows)
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
        tables = [text_table(*transfer_rows(transfer, NAMES))]
        tables += [text_table(*translation_rows(migration))]
        file.write("\n\n".join([table, *tables]) + "\n")
    write_json(
        run / "results.json",
        {
            "models": models,
            "transfer": transfer,
            "migration": migration,
            "summary": {"header": header, "rows": rows},
            "settings": dict(settings),
            "versions": versions(),
            "machine": machine(),
            "provenance": provenance({}),
        },
    )
    shared = models["default"]
    score, chance = shared["scores"]["retrieval"], shared["chance"]["retrieval"]
    lead = [
        f"Two masked language models of {SOURCE} and {TARGET} were trained without parallel text, "
        "one with shared parameters, one with a private copy of each parameter per language.",
        f"On its best layer the shared model finds {score:.1%} of {round(1 / chance):,} "
        f"translations, {score / chance:.0f} times chance; without sharing it is "
        f"{models['separate']['scores']['retrieval']:.1%}.",
        "Its English half, migrated to German, translates a held-out text with BLEU "
        f"{migration['translation']['predicted']['bleu']:.1f} in the order that it predicts; "
        f"{what_order_wins(migration)}.",
    ]
    sections = [
        Section(
            "Results at the chosen checkpoint",
            text=f"The checkpoint is the one with the lowest {SOURCE} validation perplexity; "
            f"{TARGET} has no say.",
            header=header,
            rows=rows,
            notes=[*shared["notes"], *(f"{NAMES[n]}: {MODELS[n][2]}" for n in MODELS)],
        ),
        Section("Loss per language", svg=_loss_figure(models, SOURCE, TARGET)),
        Section(
            "Sentence retrieval by layer",
            text="A sentence is the mean of its subword states; its nearest neighbour by cosine "
            "should be its translation.",
            svg=_layer_figure(models, SOURCE, TARGET),
        ),
        Section(
            "Retrieval over training",
            text="Alignment emerges while the models learn, and in long trainings of small models "
            "it can decay again, while perplexity still falls; so the curve is shown with the "
            "point that was chosen without looking at it.",
            svg=_training_figure(models, SOURCE),
        ),
        Section(
            "Nearest words",
            text=f"The most frequent {SOURCE} words of the dictionary and their three nearest "
            f"{TARGET} words in the shared model, layer {shared['scores']['word_layer']}. A check "
            "mark stands by those that the dictionary gives.",
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
