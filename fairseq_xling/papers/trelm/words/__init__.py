"""Methods for the embeddings of a new vocabulary (TreLM, Table 5).

A method returns a row for every id; afterwards the rows of the special symbols, and on request
those of symbols that the source also has, are replaced by the source's. To add a method, add a
file.

V ids of the new vocabulary, D width of the encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.mapping.vectors_file import Vectors
from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class WordRequest:
    """One vocabulary that needs embeddings.

    Attributes:
        name: its language, for messages.
        symbols: its V symbols by id, word starts marked ``▁``.
        source: the model that is migrated.
        generator: generator of all draws.
        vectors: given vectors of this vocabulary, or ``None``.
        keep_norms: whether given vectors keep their length.
    """

    name: str
    symbols: Sequence[str]
    source: SourceModel
    generator: torch.Generator
    vectors: Vectors | None = None
    keep_norms: bool = False

    def draw(self, rows: int) -> Tensor:
        """(rows, D) from a normal distribution with the source's initial deviation."""
        shape = self.source.shape
        return torch.randn(rows, shape.dim, generator=self.generator) * shape.init_std


class Way(Protocol):
    """One way."""

    reads_vectors: bool  # whether it uses given vectors

    def rows(self, request: WordRequest) -> tuple[Tensor, str]:
        """(V, D) embeddings, with their own memory, and a short description."""


word_ways: Registry[Way] = Registry("`--embeddings`", __name__)
