"""Spans over vectors from any source: all that a probe needs from a text.

N examples, S spans of each (1 or 2), K vectors, L layers, D width, B examples of a batch, M vectors
of the longest span in it, C labels.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.errors import UserError


@dataclass(frozen=True)
class Spans:
    """Examples as positions in arrays of vectors.

    Attributes:
        layers: L arrays (K, D), in memory or mapped; a probe mixes them if L > 1.
        places: (N, S, 2) int64: span s of example n is rows ``[places[n, s, 0], places[n, s, 1])``.
            An empty span means that the example has no vectors: it is not trained on, and nothing
            is predicted for it, so that its labels count as missed.
        labels: N lists of labels, or None if unknown.

    Raises:
        UserError: if shapes do not fit, or a span is outside the arrays.
    """

    layers: Sequence[np.ndarray]
    places: np.ndarray
    labels: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        shapes = {layer.shape for layer in self.layers}
        if len(shapes) != 1 or len(next(iter(shapes))) != 2:
            raise UserError(f"layers must be arrays (vectors, width) of one shape, got {shapes}")
        if self.places.ndim != 3 or self.places.shape[1] not in (1, 2) or self.places.shape[2] != 2:
            raise UserError(f"places must be (examples, 1 or 2 spans, 2), got {self.places.shape}")
        rows = len(self.layers[0])
        if self.places.size and not (self.places.min() >= 0 and self.places.max() <= rows):
            raise UserError(f"spans must lie in the {rows} vectors")
        if self.labels is not None and len(self.labels) != len(self.places):
            raise UserError(
                f"there must be labels for each of {len(self.places)} examples, "
                f"got {len(self.labels)}"
            )

    def __len__(self) -> int:
        return len(self.places)

    @property
    def width(self) -> int:
        """D."""
        return self.layers[0].shape[1]

    @property
    def usable(self) -> np.ndarray:
        """(N,) bool, whether every span of an example has vectors."""
        return (self.places[..., 0] < self.places[..., 1]).all(1)

    def gather(self, chosen: np.ndarray) -> list[tuple[Tensor, Tensor]]:
        """The vectors of some examples: for each span (B, M, L, D) float32 and (B, M) bool, True
        where there is a vector."""
        found = []
        for number in range(self.places.shape[1]):
            first, end = self.places[chosen, number].T
            inside = np.arange((end - first).max()) < (end - first)[:, None]
            rows = np.where(inside, first[:, None] + np.arange(inside.shape[1]), first[:, None])
            vectors = np.stack([layer[rows] for layer in self.layers], axis=2)
            found.append((torch.from_numpy(vectors.astype(np.float32)), torch.from_numpy(inside)))
        return found


def label_names(labels: Iterable[Sequence[str]]) -> list[str]:
    """All labels, sorted.

    >>> label_names([("b",), (), ("a", "b")])
    ['a', 'b']
    """
    return sorted({label for some in labels for label in some})


def label_matrix(labels: Sequence[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """(N, C) bool, whether an example has a label; those that are not in ``names`` are left out.

    >>> label_matrix([("b",), ("a", "x")], ["a", "b"]).tolist()
    [[False, True], [True, False]]
    """
    numbers = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(labels), len(names)), dtype=bool)
    pairs = [(n, numbers[x]) for n, some in enumerate(labels) for x in some if x in numbers]
    if pairs:
        found[tuple(np.array(pairs).T)] = True
    return found
