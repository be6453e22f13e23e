"""The measures of `fairseq-xling eval`: one file each, found by name.

A measure is a class with ``add_arguments(parser)`` for its own options and
``run(subject, args) -> Findings``. It receives an encoder; it never imports fairseq. Its heavy
imports belong inside ``run``: the options of all measures are declared before any is run.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fairseq_xling.errors import UserError, about
from fairseq_xling.registry import Registry

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
        self, sentences: Sequence[np.ndarray], lang: str, max_tokens: int = 8192
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """Batches of (sentence indices (B,), states (L+1, B, T, D), word positions (B, T))."""

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


@dataclasses.dataclass
class Findings:
    """The result of a measure.

    Attributes:
        title: heading of the printed table, with what was measured on what.
        header: column names.
        rows: the printed table; numbers stay numbers.
        scores: ``{language: {score name: value}}``, the figures that studies collect.
        chance: ``{language: {score name: value}}`` at chance level, where defined.
        notes: what a reader needs to interpret the figures.
        details: anything else a report shows (JSON values).
    """

    title: str
    header: list[str]
    rows: list[list[Any]]
    scores: dict[str, dict[str, float]]
    chance: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Measure(Protocol):
    """One file in this folder, registered in ``MEASURES``."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its own options."""

    def run(self, subject: Subject, args: argparse.Namespace) -> Findings:
        """Measure.

        Raises:
            UserError: if the required data is missing.
        """


MEASURES: Registry[type[Measure]] = Registry("measure", "fairseq_xling.analysis.measures")


def parse_measures(text: str) -> list[str]:
    """Names of a comma-separated list, each checked.

    >>> parse_measures("retrieval,bpw")
    ['retrieval', 'bpw']

    Raises:
        UserError: for an empty list, an unknown name (with near matches), or one named twice.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UserError(
            f"`--measure` must name at least one of {', '.join(MEASURES)}, got {text!r}"
        )
    for name in names:
        with about("`--measure`"):
            MEASURES[name]
        if names.count(name) > 1:
            raise UserError(f"`--measure` names {name!r} twice in {text!r}")
    return names
