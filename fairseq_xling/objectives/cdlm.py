"""Cross-lingual language modelling (CdLM): predict the translation from the source's hidden states.

Li et al. (2021), TreLM, Section 3.1: S = X in full, A = word alignment from Y to X, W = Y and C all
of Y, ``<s>``, ``</s>`` and unaligned words included.
"""

import numpy as np

from fairseq_xling.data.example import Example, Objective, require_alignment
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives


@objectives.register("cdlm")
class CrossLingualLM(Objective):
    """Predict every target token from the source sentence, read in the target's order."""

    name = "cdlm"
    spec_rows = ("P5", "P6")
    reads = "parallel"
    needs_order = True
    reorders = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        require_alignment(row, self.name)
        target = row.target.tokens
        return Example(
            src=self.vocabulary.side(row.source),
            tgt={
                **self.vocabulary.side(row.target),
                "predict": np.ones(len(target), dtype=bool),
            },
            order=row.order,
            extra={
                "reordered": slots_of(row.order),
                "kept": kept_of(row.order, len(row.source.tokens)),
            },
            further=row.further,
        )


def slots_of(order: np.ndarray) -> np.ndarray:
    """A 1 for each slot of ``order`` (U,), and at least one: (S,).

    It marks the rows from which heads learn an order, and its width says how many slots those of a
    batch have, which would otherwise be asked of the device.
    """
    return np.ones(max(1, np.count_nonzero(order >= 0)), dtype=np.int64)


def kept_of(order: np.ndarray, length: int) -> np.ndarray:
    """A 1 for each of ``length`` source tokens that ``order`` (U,) has, once, or that is the first
    or the last: (S,). Its width is of use as that of `slots_of`.

    >>> kept_of(np.array([0, 2, -1, 2, 4]), 6).tolist()  # 0, 2, 4 and 5
    [1, 1, 1, 1]
    """
    kept = np.zeros(length, dtype=bool)
    kept[order[order >= 0]] = kept[[0, -1]] = True
    return np.ones(np.count_nonzero(kept), dtype=np.int64)
