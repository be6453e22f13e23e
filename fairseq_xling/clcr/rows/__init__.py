"""Rows: which vectors of a sentence make its sequence, and in which order, found by name.

CLCR, section 4.2 and Appendices A and B. The first language's states are mapped into the second's
space, the second's are unchanged:

    row     first language                   second language
    states  all words of r1                  all words of r2
    T       all words of T12(r1)             all words of r2
    T+E     its key-points                   its key-points
    T+E+R   its key-points, reordered        its key-points
    T+pGA   pivots, in their partners' order pivots
    T+pGA-target  the same               all words of r2

T+pGA reads the translation of each sentence, so it is not a method for new text but an upper bound
with perfect extraction and order. With T+pGA-target, a model that was trained on row T of the
second language reads the first. `--reorder second` exchanges the languages where one is reordered.
`states` is the input of T, for probes. To add a row, put a file here with a `RowMethod` registered
under ``@rows.register("name")``.

B sentences, T tokens with ``<s>`` and ``</s>``, K vectors of the longest sequence, E width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class RowOptions:
    """Options of the rows; None and '' are the model's own settings.

    Attributes:
        delta: key-points are tokens with p(key-point) above it.
        order: name of the order head; search, beam, weigh: the search for an order.
        reorder: language whose key-points are put into the other's order, first or second.
        threshold: of pseudo-gold pivots.
    """

    delta: float | None = None
    order: str = "rel"
    search: str = "beam"
    beam: int = 10
    weigh: str = ""
    reorder: str = "first"
    threshold: float | None = None


class View(NamedTuple):
    """A batch of one language.

    Attributes:
        vectors: (B, T, E), in the second language's space.
        content: (B, T), True at words.
        states: (B, T, D or E), of this language's encoder, untransformed.
        source: the batch as encoders read it.
        other_states, other_content: of the translations, for a row that reads them.
    """

    vectors: Tensor
    content: Tensor
    states: Tensor
    source: Mapping[str, Tensor]
    other_states: Tensor | None = None
    other_content: Tensor | None = None


class Chosen(NamedTuple):
    """Positions (B, K) of tokens in the order of the sequence, then padding; its mask (B, K)."""

    places: Tensor
    padding: Tensor

    def of(self, vectors: Tensor) -> Tensor:
        """These tokens of ``vectors`` (B, T, E): (B, K, E); padding is meaningless."""
        return vectors.gather(1, self.places[..., None].expand(-1, -1, vectors.shape[2]))


class RowMethod:
    """Base class: ``MyRow(model, side, options)``.

    Args:
        model: a `fairseq_xling.interop.clcr.Clcr`.
        side: 0 for the first language, 1 for the second.

    Attributes:
        reads_translation: whether it reads the other side of parallel text.
        needs: the trainings that it builds on, besides that of the transforms.
        reads: the fields of `RowOptions` that its sequences depend on.

    Raises:
        UserError: if a module was not trained, or an option is missing.
    """

    reads_translation: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Any, side: int, options: RowOptions):
        self.model, self.side, self.options = model, side, options

    def __call__(self, view: View) -> Chosen:
        """Which vectors make each sequence."""
        raise NotImplementedError(type(self).__name__)

    @property
    def width(self) -> int:
        """The width of its vectors."""
        return self.model.widths[1]

    def vectors(self, view: View) -> Tensor:
        """The candidate vectors, (B, T, `width`)."""
        return view.vectors


def in_text_order(kept: Tensor) -> Chosen:
    """The tokens that are ``kept`` (B, T), in text order.

    >>> chosen = in_text_order(torch.tensor([[False, True, True], [True, False, False]]))
    >>> chosen.places.tolist(), chosen.padding.tolist()
    ([[1, 2], [0, 1]], [[False, False], [False, True]])
    """
    counts = kept.sum(1)
    longest = int(counts.max()) if len(counts) else 0
    front = torch.sort((~kept).long(), dim=1, stable=True).indices[:, :longest]
    padding = torch.arange(longest, device=kept.device) >= counts[:, None]
    return Chosen(front, padding)


def reordered(chosen: Chosen, ranks: Tensor) -> Chosen:
    """``chosen`` with token k at position ``ranks[:, k]``; padding ranks last."""
    order = ranks.masked_fill(chosen.padding, torch.iinfo(torch.int64).max).argsort(
        dim=1, stable=True
    )
    return Chosen(chosen.places.gather(1, order), chosen.padding)


rows: Registry[type[RowMethod]] = Registry("`--row`", __name__)
