"""What is analysed: an encoder, its text and its data folder, as far as an analysis knows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from fairseq_xling.data.folder import DataFolder


class Encoder(Protocol):
    """The interface of an encoder for measures (``fairseq_xling.interop.encoder.Encoder``)."""

    languages: Sequence[str]
    num_layers: int
    width: int

    def states(
        self,
        sentences: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
        unknown: bool = False,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """Batches of (sentence indices (B,), states (L+1, B, T, D), word positions (B, T)).

        ``unknown``: whether ``<unk>`` is a word.
        """

    def masked_log_probs(
        self,
        sentences: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
    ) -> Iterator[Tensor]:
        """Batches of ln p (n,) of the subwords at ``positions``, masked in the input."""

    def masked_logits(
        self,
        sentences: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches of logits (n, V) there, and of the masked subwords (n,)."""

    def embeddings(self, lang: str) -> Tensor:
        """The raw rows of the language's token embeddings (V, D)."""


class TextEncoder(Protocol):
    """Text to subword ids as in the data folder."""

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """One int64 array per line, ending in ``</s>``."""

    def starts_word(self, ids: np.ndarray) -> np.ndarray:
        """True where an id (any shape) begins a word."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """The model and data of a measure.

    Attributes:
        encoder: the trained model.
        folder: the data folder it was trained on.
        source: the language that the others are compared with.
        targets: the other languages, one column of results each.
        text_encoder: returns the folder's encoder of a language's text.
    """

    encoder: Encoder
    folder: DataFolder
    source: str
    targets: Sequence[str]
    text_encoder: Callable[[str], TextEncoder]
