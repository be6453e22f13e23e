"""The figures of the demonstration, as panels of lines; both models are in each."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairseq_xling.results.figures import Line, Panel
from fairseq_xling.studies.demo.scale import SOURCE, TARGET

NAMES = {"default": "shared", "separate": "nothing shared"}
Models = Mapping[str, Mapping[str, Any]]
_STEPS = "optimiser steps"


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
