"""Probe folders of sequences: what can be predicted from the kept vectors of a span.

CLCR, section 4.3: the probe (`fairseq_xling.tasks.probing`) is the same as on an encoder. A span
of a text is all kept vectors whose subwords are within it. A span without kept vectors
is not predicted, and its labels count as missed, so extraction costs recall.

Symbols: ``E`` texts, ``R`` rows of their sequences, ``N`` examples, ``S`` spans of each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairseq_xling.clcr.sequences import Sequences
from fairseq_xling.errors import UserError
from fairseq_xling.tasks.probing.states import Placed, Spans

_ODD = 0.02  # share of texts that may be split into other subwords than their sequences


class SortedRows:
    """The vectors of a folder, sentence by sentence in the order of the text: (R, D) as an array.

    In a reordered sequence the vectors of a span are scattered; a probe pools them, so that their
    order does not matter, and reads them from one slice.
    """

    def __init__(self, array: np.ndarray, order: np.ndarray):
        self._array, self._order = array, order
        self.shape = array.shape

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._array[self._order[rows]]


def sequence_spans(
    sequences: Sequences, placed: Placed, labels: Sequence[Sequence[str]] | None
) -> Spans:
    """The examples over a folder of sequences of their texts, mapped.

    Args:
        placed: examples whose spans count the subwords of whole texts, like the folder's spans.

    Raises:
        UserError: if the folder has other texts, two rows of a sentence overlap, or a vector is
            not finite.
    """
    sequences.check_finite()
    alike = _alike(sequences, placed)
    starts = np.cumsum(sequences.lengths, dtype=np.int64) - sequences.lengths  # (E,)
    ends = np.repeat(starts, sequences.counts)[:, None] + sequences.spans  # (R, 2), over all texts
    order = np.argsort(ends[:, 0], kind="stable")
    first, end = ends[order].T
    if (first[1:] < end[:-1]).any():
        raise UserError(
            f"{sequences.path / 'spans.npy'}: rows of a sentence must not overlap; it would be "
            "unclear which belong to a span"
        )
    wanted = starts[placed.owner][:, None, None] + placed.places  # (N, S, 2)
    from_row = np.searchsorted(first, wanted[..., 0], side="left")
    to_row = np.searchsorted(end, wanted[..., 1], side="right")
    some = (from_row < to_row) & (wanted[..., 0] < wanted[..., 1])
    some &= alike[placed.owner][:, None]
    places = np.where(some[..., None], np.stack([from_row, to_row], axis=-1), 0)
    return Spans([SortedRows(sequences.array, order)], places, labels)  # type: ignore[list-item]


def _alike(sequences: Sequences, placed: Placed) -> np.ndarray:
    """(E,) bool, whether a text has the subwords that its sequence was made from.

    Rarely one does not: a word without letters has no subword in a whole text, but one on its own.
    """
    if sequences.sentences != len(placed.texts):
        raise UserError(
            f"{sequences.path}: must have a sentence for each of {len(placed.texts)} texts, got "
            f"{sequences.sentences}; encode what `fairseq-xling probe texts` writes"
        )
    sizes = np.array([len(ids) - 1 for ids in placed.texts])
    wrong = np.flatnonzero(sizes != sequences.lengths)
    if len(wrong) > _ODD * len(sizes):
        line = int(wrong[0])
        raise UserError(
            f"{sequences.path}: sentence {line + 1} must have {sizes[line]} subwords, got "
            f"{sequences.lengths[line]}; it is another text, or `--data` another folder"
        )
    return sizes == sequences.lengths
