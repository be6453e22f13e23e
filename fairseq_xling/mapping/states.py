"""Folders of hidden states for fitting maps: chosen rows, or all, in double precision.

Symbols: ``R`` rows of a folder, ``P`` vectors that are taken from it, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairseq_xling.analysis.extracted import Extracted
from fairseq_xling.core.array_file import mapped
from fairseq_xling.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

META = "meta.json"
BLOCK = 4096  # rows


class Selection(NamedTuple):
    """Vectors that are rows of a folder, or means of several.

    Attributes:
        rows: int64, the rows of the first vector, then of the second, ...
        sizes: (P,) int64 how many rows each vector is the mean of, at least 1; None is 1 for all.
    """

    rows: np.ndarray
    sizes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.rows if self.sizes is None else self.sizes)


class States(Extracted):
    """A folder of `fairseq-xling extract`; see there for its attributes."""

    def extra(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The whole numbers in ``NAME.npy`` next to the vectors, mapped into memory."""
        return mapped(self.path / f"{name}.npy", "i", shape, "extract the folder again")

    def vectors(self, layer: int) -> Iterator[Tensor]:
        """All non-zero vectors of a layer (those of blank lines are zero), (n, D) float64.

        Raises:
            UserError: for a value that is not finite, or vectors that are all zero.
        """
        empty = True
        for block in self.blocks(layer):
            block = block[block.any(1)]
            if len(block):
                empty = False
                yield block.double()
        if empty:
            raise UserError(f"{self.file(layer)}: all its vectors are zero")

    def take(self, layer: int, chosen: Selection) -> Tensor:
        """The vectors (P, D) float64 of a layer that are ``chosen``.

        Raises:
            UserError: for a value that is not finite.
        """
        import torch

        rows = self.arrays[layer][chosen.rows].astype("float64")
        finite = np.isfinite(rows).all(1)
        if not finite.all():
            row = chosen.rows[int((~finite).argmax())]
            raise UserError(f"{self.file(layer)}: must be finite, got NaN or infinity in row {row}")
        if chosen.sizes is not None:
            starts = np.cumsum(chosen.sizes) - chosen.sizes
            rows = np.add.reduceat(rows, starts, axis=0) / chosen.sizes[:, None]
        return torch.from_numpy(rows)
