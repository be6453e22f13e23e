"""Labelled sentence pairs in batches, for all measures of trained modules."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairseq_xling.clcr.label import blocks_of_text
from fairseq_xling.data.batch import pad_rows
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sources import frame_order
from fairseq_xling.models.clcr.modules import PairStates


def labelled_batches(
    model: Any, sides: tuple[TokenFile, TokenFile], order: TokenFile, max_tokens: int
) -> Iterator[PairStates]:
    """Every sentence pair once, with its pivots as ``partner`` and T12 of its first side.

    Args:
        model: a `fairseq_xling.interop.clcr.Clcr`.
        order: the pivots, of `Labels.order`.
        max_tokens: maximum padded tokens per side and batch.
    """
    for start, texts in blocks_of_text(sides, 0):
        yield from _batches(model, texts, order, start, max_tokens)


def labelled_pair(
    model: Any, sides: tuple[TokenFile, TokenFile], order: TokenFile, number: int
) -> PairStates:
    """Sentence pair ``number``, from 0, as a batch of one; arguments as of `labelled_batches`."""
    texts = [[side[number]] for side in sides]
    return next(_batches(model, texts, order, number, max_tokens=1))


def _batches(
    model: Any,
    texts: Sequence[Sequence[np.ndarray]],
    order: TokenFile,
    start: int,
    max_tokens: int,
) -> Iterator[PairStates]:
    for indices, states, masks in model.pairs(*texts, max_tokens):
        lengths = [[min(len(text[i]) + 1, model.positions) for i in indices] for text in texts]
        rows = [
            frame_order(order[start + int(i)], m, n)
            for i, m, n in zip(indices, *lengths, strict=True)
        ]
        partner = pad_rows(rows, -1).to(masks[1].device).masked_fill(~masks[1], -1)
        sources = tuple(model.source([text[i] for i in indices]) for text in texts)
        yield PairStates(states, masks, partner, model.transform(0, states[0]), sources)
