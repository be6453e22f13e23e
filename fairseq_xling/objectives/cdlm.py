"""Cross-lingual language modelling (CdLM): predict the translation from the source's hidden states.

Li et al. (2021), TreLM, Section 3.1: S = X in full, A = word alignment from Y to X, W = Y and C all
of Y, ``<s>``, ``</s>`` and unaligned words included.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from fairseq_xling.data.example import Example, Examples, Objective, ones, require_alignment
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives


@objectives.register("cdlm")
class CrossLingualLM(Objective):
    """Predict every target token from the source sentence, read in the target's order."""

    name = "cdlm"
    reads = "parallel"
    needs_order = True
    reorders = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        return CrossLingualLM.examples_of(self, [row], [rng]).each()[0]

    def examples_of(self, rows: Sequence[Row], rngs: Iterable[np.random.Generator]) -> Examples:
        for row in rows:
            require_alignment(row, self.name)
        examples = self.vocabulary.translations(rows)
        order = np.concatenate([row.order for row in rows])
        examples.order, examples.further = order, [row.further for row in rows]
        examples.extra = {
            "reordered": slots_of(order, examples.sizes),
            "kept": kept_of(order, examples.sizes, examples.lengths),
        }
        return examples


def slots_of(order: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In each row a 1 for each slot of ``order`` (M,), of ``sizes`` (B,), and at least one.

    It marks the rows from which heads learn an order, and its width says how many slots those of a
    batch have, which would otherwise be asked of the device.
    """
    return ones(np.maximum(1, _marked(order >= 0, sizes)))


def kept_of(
    order: np.ndarray, sizes: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """In each row a 1 for each of its source tokens, ``lengths`` (B,), that its ``order``
    has, once, or that is the first or the last. Its width is of use as that of `slots_of`.

    >>> kept_of(np.array([0, 2, -1, 2, 4]), np.array([5]), np.array([6]))  # 0, 2, 4 and 5
    (array([1, 1, 1, 1]), array([4]))
    """
    linked, firsts = order >= 0, lengths.cumsum() - lengths
    kept = np.zeros(lengths.sum(), dtype=bool)
    kept[(np.repeat(firsts, sizes) + order)[linked]] = True
    kept[firsts] = kept[firsts + lengths - 1] = True
    return ones(_marked(kept, lengths))


def _marked(marks: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many of ``marks`` (N,) the rows of ``lengths`` (B,) have, (B,)."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(rows[marks], minlength=len(lengths))
