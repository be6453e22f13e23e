"""Measures of two folders of `fairseq-xling extract`: one file each, one verb each.

The folders may be of any two encoders, trained jointly or independently. A comparison is a function
``compare(sides, args) -> Comparison``; it never imports fairseq.

Symbols: ``L`` layers, ``N`` rows of the first folder, ``M`` of the second, ``D`` width.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from fairseq_xling.analysis.extracted import Extracted, common_layers
from fairseq_xling.errors import UserError
from fairseq_xling.progress import progress

if TYPE_CHECKING:
    from torch import Tensor


class Map(Protocol):
    """A map of both sides into one space (`fairseq_xling.mapping.fitted.FittedMap` is one)."""

    def apply(self, rows: Tensor, layer: int) -> Tensor:
        """Rows (N, D) of the first folder to (N, E)."""

    def fixed(self, rows: Tensor, layer: int) -> Tensor:
        """Rows (M, D) of the second folder to (M, E)."""


@dataclasses.dataclass(frozen=True)
class Sides:
    """What is compared.

    Attributes:
        x, y: the two folders.
        wanted: layers as the user named them, or None for all.
        mapping: the map into one space, if a file was given.
    """

    x: Extracted
    y: Extracted
    wanted: str | None = None
    mapping: Map | None = None

    @cached_property
    def layers(self) -> Sequence[int]:
        """The layers to compare, the same for both sides; errors as `common_layers`."""
        return common_layers(self.x, self.y, self.wanted)

    @property
    def pair(self) -> str:
        """The two languages."""
        return f"{self.x.lang}-{self.y.lang}"

    def rows(self, layer: int) -> tuple[Tensor, Tensor]:
        """All rows of a layer in one space: (N, E) and (M, E).

        Raises:
            UserError: if the spaces are of different widths, or the map is not for them.
        """
        return self.in_common(self.x.whole(layer), self.y.whole(layer), layer)

    def in_common(self, x: Tensor, y: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Rows (n, D) and (m, D) of a layer in one space: (n, E) and (m, E); errors as `rows`."""
        if self.mapping is not None:
            x, y = self.mapping.apply(x, layer), self.mapping.fixed(y, layer)
        elif x.shape[1] != y.shape[1]:
            raise UserError(
                f"{self.x.path} and {self.y.path}: widths must be equal, or a map must be given, "
                f"got {x.shape[1]} and {y.shape[1]}"
            )
        return x, y

    def by_layer(self, what: str) -> Iterator[tuple[Tensor, Tensor]]:
        """`rows` of each layer, with a progress bar if that takes long."""
        with progress(len(self.layers), what, "layers", checks=True) as bar:
            for layer in self.layers:
                yield self.rows(layer)
                bar.update()


@dataclasses.dataclass
class Comparison:
    """The result of a comparison.

    Attributes:
        title: heading of the table, with what was measured on what.
        layers: (L,).
        curves: by name, a value for each layer.
        headline: the main curve.
        ylabel: label of the values, with their unit.
        panels: of the figure: by title, the names of the curves to draw.
        chance: the value at chance level, with its name.
        matrix: a value for each layer of x (rows) and each of y (columns), if requested.
        notes: what a reader needs to interpret the figures.
        details: anything else (JSON values).
    """

    title: str
    layers: Sequence[int]
    curves: dict[str, list[float]]
    headline: str
    ylabel: str
    panels: dict[str, list[str]]
    chance: tuple[float, str] | None = None
    matrix: list[list[float]] | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    details: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """The mean over the layers of each curve."""
        return {name: sum(values) / len(values) for name, values in self.curves.items() if values}


Compare = Callable[[Sides, argparse.Namespace], Comparison]
