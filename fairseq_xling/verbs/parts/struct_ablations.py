"""Ablations of a matrix: models with one thing changed. To add one, register another function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairseq_xling.registry import Registry
from fairseq_xling.structures.features import parse_features
from fairseq_xling.verbs.parts.struct_config import MatrixConfig


@dataclass(frozen=True)
class Variant:
    """A model of the table.

    Attributes:
        name: empty for the model as configured.
        features: that it reads; changes: of `ModelSettings`.
    """

    name: str
    features: tuple[str, ...]
    changes: dict[str, Any] = field(default_factory=dict)


ablations: Registry[Callable[[MatrixConfig, tuple[str, ...]], list[Variant]]] = Registry("ablation")


@ablations.register("features")
def leave_out(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """Without each feature."""
    if len(chosen) < 2:
        return []
    return [Variant(f"without {x}", tuple(one for one in chosen if one != x)) for x in chosen]


@ablations.register("layers")
def layers(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """0 to 3 layers, besides the configured number."""
    return [Variant(f"L = {n}", chosen, {"layers": n}) for n in range(4) if n != config.layers]


@ablations.register("prune")
def prune(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """The path between the mentions alone, one edge around it, and the whole sentence."""
    kinds = {-1: "whole sentence", 0: "path alone", 1: "path and 1 edge"}
    return [Variant(x, chosen, {"prune": n}) for n, x in kinds.items() if n != config.prune]


def variants(config: MatrixConfig, names: Sequence[str]) -> list[Variant]:
    """The configured model, then those of the ablations ``names``."""
    chosen = parse_features(config.features)
    found = [Variant("", chosen)]
    for name in names:
        found += ablations[name](config, chosen)
    return found
