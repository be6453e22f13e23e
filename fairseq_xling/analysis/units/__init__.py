"""What vectors are of, for `fairseq-xling extract`: one file each, found by name.

A unit takes the states of a block of sentences, keeps its result and how far it is in one place,
and so can go on after a kill as if nothing had happened. Units never import fairseq.

B sentences of a block, T tokens, L layers that were chosen, D width, V vocabulary.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.registry import Registry
from fairseq_xling.text.encoder import TextEncoder

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Work:
    """What a unit is about.

    Attributes:
        folder: where the unit keeps all that it writes.
        text: the text, a sentence per line.
        lang, data, encode: its language, the data folder, and the encoder of text.
        layers: the layers that are kept (L,).
        width: D.
        dtype: of the vectors.
        embeddings: gives the raw rows of the language's token embeddings (V, D).
    """

    folder: Path
    text: Path
    lang: str
    data: DataFolder
    encode: TextEncoder
    layers: tuple[int, ...]
    width: int
    dtype: np.dtype
    embeddings: Callable[[], Tensor]

    def array(self, layer: int) -> Path:
        """The file of a layer's vectors."""
        return self.folder / f"layer{layer:02d}.npy"


class Block(Protocol):
    """The sentences of a block, whose states come in batches in any order."""

    def add(self, indices: np.ndarray, states: Tensor, words: Tensor) -> None:
        """States (L, B, T, D) and positions of words (B, T) of the sentences ``indices`` (B,)."""

    def close(self) -> None:
        """Keep the block's result, and that it is done."""


class Unit(Protocol):
    """One kind of vector.

    A unit that has nothing but the embeddings has an attribute ``last_layer = 0``, and is done with
    all lines at once.
    """

    done: int  # lines of the text whose result is kept

    def __init__(self, work: Work, args: argparse.Namespace): ...

    @staticmethod
    def add_arguments(parser: Any) -> None:
        """Options of its own."""

    def block(self, sentences: Sequence[np.ndarray]) -> Block:
        """Begin a block of sentences (ids)."""

    def finish(self) -> dict[str, Any]:
        """Bring files into their final form; what a reader must know of them."""


units: Registry[type[Unit]] = Registry("`--unit`", __name__)
