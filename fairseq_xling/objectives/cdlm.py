"""Cross-lingual language modelling (CdLM): write the translation in the source's hidden states.

Li et al. (2021), TreLM, Section 3.1: S = X in full, A = word alignment from Y to X, W = Y and C all
of Y, ``<s>``, ``</s>`` and unaligned words included.
"""

import numpy as np

from fairseq_xling.data.sources import Row, Side
from fairseq_xling.errors import UserError
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.base import Example, Objective, constant


@objectives.register("cdlm")
class CrossLingualLM(Objective):
    """Predict every target token from the source sentence, read in the target's order."""

    name = "cdlm"
    reads = "parallel"
    needs_order = True
    reorders = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        if row.target is None or row.order is None:
            raise UserError("objective 'cdlm' needs parallel text with word alignments")
        target, order = row.target.tokens, row.order
        read = order
        if rng.random() < self.cfg.order_blur:
            read = blur(order, rng.random())
        return Example(
            src=plain_side(row.source, self.vocabulary.lang_ids),
            tgt={
                **plain_side(row.target, self.vocabulary.lang_ids),
                "predict": np.ones(len(target), dtype=bool),
            },
            order=read,
            # The alignment as it is, from which the head for order learns; 0 stands for padding.
            extra={"alignment": order + 2},
        )


def blur(order: np.ndarray, share: float) -> np.ndarray:
    """``order`` (U,) moved towards the source's order: not at all at 0, all the way at 1.

    Each position keeps a state if it had one; the states come in the order of the weighted mean of
    their places in the target's and in the source's order. A model that also meets such orders
    learns to put words right itself where the order that translation finds is not quite the
    target's.

    >>> blur(np.array([0, 3, -1, 2, 1, 4]), 0.0).tolist()
    [0, 3, -1, 2, 1, 4]
    >>> blur(np.array([0, 3, -1, 2, 1, 4]), 1.0).tolist()
    [0, 1, -1, 2, 3, 4]
    """
    taken = np.flatnonzero(order >= 0)
    states = order[taken]
    rank = np.argsort(np.argsort(states, kind="stable"), kind="stable")
    key = (1 - share) * np.arange(len(taken)) + share * rank
    blurred = order.copy()
    blurred[taken] = states[np.argsort(key, kind="stable")]
    return blurred


def plain_side(side: Side, lang_ids: dict[str, int]) -> dict[str, np.ndarray]:
    """A sentence as it is: tokens, langs and positions, (n,) each."""
    length = len(side.tokens)
    return {
        "tokens": side.tokens,
        "langs": constant(lang_ids[side.lang], length),
        "positions": np.arange(length),
    }
