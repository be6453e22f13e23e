"""The units of vectors for `fairseq-xling extract`: one file each, found by name.

A unit receives the states of a block of sentences and stores its result together with its progress,
so that it can resume seamlessly after a kill. Units never import fairseq.

B sentences of a block, T tokens, L layers that were chosen, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Work:
    """The text and settings of a unit.

    Attributes:
        folder: where the unit writes its files.
        text: the text, a sentence per line.
        lang, data, encode: its language, the data folder, and the encoder of text.
        layers: the layers that are kept (L,).
        width: D.
        dtype: of the vectors.
        embeddings: returns the raw rows of the language's token embeddings (V, D).
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
        """Store the block's result, and record that it is done."""


class Unit(Protocol):
    """One kind of vector.

    A unit that takes ``<unk>`` for a word has an attribute ``unknown = True``. A unit that uses
    only the embeddings has an attribute ``last_layer = 0``, and processes all lines at once.
    """

    options: type  # a dataclass (`fairseq_xling.core.options`), which units may share
    done: int  # lines of the text whose result is stored

    def __init__(self, work: Work, options: Any): ...

    def block(self, lines: Sequence[str], sentences: Sequence[np.ndarray]) -> Block:
        """Start a block of sentences: their text, and their ids, of which the last is ``</s>``."""

    def finish(self) -> dict[str, Any]:
        """Finish the files; returns what a reader needs to know about them."""


units: Registry[type[Unit]] = Registry("`--unit`", __name__, needs=("options",))
