"""`fairseq-xling demo`: two models, shared and not, a migration, and heads trained on English."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.page import Measured, Page, Result, Table, caption
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.demo.report import NAMES

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1.3"


@KINDS.register("demo")
class Demo:
    """Retrieval by layer and over training."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"models", "summary", "settings"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        models, summary = record["models"], record["summary"]
        chance = record["models"]["default"]["chance"]["retrieval"]
        seed = record["settings"]["seed of corpus and training"]
        layers = Panel(
            [
                Line(NAMES[name], range(len(one["layers"])), _means(one["layers"]), style)
                for style, (name, one) in enumerate(models.items())
            ],
            xlabel="layer (0 = embedding output)",
            ylabel="sentence retrieval, P@1",
            chance=(chance, f"chance ({chance:.4f})"),
            whole=True,
        )
        training = Panel(
            [
                Line(
                    NAMES[name],
                    [step for step, _ in one["over_training"]],
                    [max(_means(found)) for _, found in one["over_training"]],
                    style,
                )
                for style, (name, one) in enumerate(models.items())
            ],
            xlabel="optimiser steps",
            ylabel="sentence retrieval, P@1, best layer",
            chance=(chance, f"chance ({chance:.4f})"),
        )
        notes = caption(result, SOURCE, "P@1 as a share, mean of both directions.", f"Seed {seed}.")
        return Page(
            title="Cross-lingual structure without parallel text",
            source=SOURCE,
            lead=["Two masked language models: one shares its parameters, one shares none."],
            sections=[
                Section(
                    "Sentence retrieval by layer, and over training",
                    svg=to_svg(draw([layers, training])),
                    notes=notes,
                ),
                Section("At the chosen checkpoint", header=summary["header"], rows=summary["rows"]),
            ],
            tables={
                "summary": (summary["header"], summary["rows"]),
                "layers": _layer_rows(models),
                "training": _training_rows(models),
            },
            measured=[
                Measured(row, f"{words}, demo", models["default"]["scores"][key])
                for row, key, words in (
                    ("S7", "retrieval", "sentence P@1 without a map, best layer"),
                    ("S16", "word_mrr", "word MRR, best layer"),
                )
            ],
        )


def _means(layers: list[list[float]]) -> list[float]:
    return [sum(pair) / len(pair) for pair in layers]


def _layer_rows(models: Mapping[str, Any]) -> Table:
    return ["model", "layer", "forward", "backward"], [
        [NAMES[name], layer, *pair]
        for name, one in models.items()
        for layer, pair in enumerate(one["layers"])
    ]


def _training_rows(models: Mapping[str, Any]) -> Table:
    return ["model", "step", "layer", "forward", "backward"], [
        [NAMES[name], step, layer, *pair]
        for name, one in models.items()
        for step, found in one["over_training"]
        for layer, pair in enumerate(found)
    ]
