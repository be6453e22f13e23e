"""Measures on numpy arrays: two spaces compared, row by row or by search.

Rows are vectors: ``x`` is (N, D), ``y`` (M, E). All measures raise UserError, a ``ValueError``, for
arguments of another shape or dtype, for values that are not finite or whose squares are not, and
for settings of another kind. `fairseq_xling.analysis` and `fairseq_xling.mapping` have the
definitions and their sources.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from fairseq_xling.analysis.cka import linear_cka
from fairseq_xling.analysis.ranks import nearest, rank_scores, ranks
from fairseq_xling.analysis.vector_translation import vector_translation
from fairseq_xling.api import checked
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import SEEDS
from fairseq_xling.mapping.csls import local_densities
from fairseq_xling.mapping.nearest import WAYS, paired_accuracy
from fairseq_xling.mapping.normalize import unit

__all__ = (
    *("bli", "cka", "csls", "mds", "mean_shift", "mrr", "neighbours", "tatoeba"),
    *("Accuracy", "Neighbours", "Shift"),
)


def __dir__() -> list[str]:
    return sorted(__all__)


class Neighbours(NamedTuple):
    """The nearest rows of each query.

    Attributes:
        index: (N, top) int64, rows of ``y``, best first.
        score: (N, top), their cosines; by CSLS, cosine less half of the target's mean cosine to its
            nearest queries, which ranks in the same way.
    """

    index: np.ndarray  # type: ignore[assignment]  # a tuple's own method, which nobody needs here
    score: np.ndarray


class Accuracy(NamedTuple):
    """Shares in [0, 1] of the N rows whose nearest neighbour is the right one.

    Attributes:
        forward: of ``x`` among ``y``; backward: of ``y`` among ``x``.
    """

    forward: float
    backward: float

    @property
    def mean(self) -> float:
        """Of both directions."""
        return (self.forward + self.backward) / 2


class Shift(NamedTuple):
    """Shares in [0, 1] before and after the mean difference is added."""

    before: float
    after: float


def cka(x: Any, y: Any) -> float:
    """Linear CKA of (N, D) and (N, E), in [0, 1].

    >>> cka(np.eye(3), 5 * np.eye(3) + 7)
    1.0
    """
    return linear_cka(*checked.matrices(x, y, paired=True, least=2, double=True))


def csls(x: Any, y: Any, *, k: int = 10) -> np.ndarray:
    """Cosines of all rows with all rows, (N, M), less their hubs' (Conneau et al. 2018, section
    2.3): 2 cos(x, y) less the mean cosine of x, and of y, to its ``k`` nearest.

    For search, `neighbours` needs no memory for all pairs.

    >>> csls(np.eye(2), np.eye(2), k=1)
    array([[ 0., -2.],
           [-2.,  0.]])
    """
    first, second = checked.matrices(x, y)
    checked.same_width(first, second)
    of_x, of_y = local_densities(first, second, checked.count("k", k))
    return (2 * unit(first) @ unit(second).T - of_x[:, None] - of_y).numpy()


def neighbours(x: Any, y: Any, *, top: int = 1, way: str = "csls", k: int = 10) -> Neighbours:
    """The ``top`` nearest rows of ``y`` (M, D) of each row of ``x`` (N, D); at most M.

    Args:
        way: cosine, or csls (without hubs).
        k: neighbours that CSLS averages over.

    >>> neighbours(np.eye(3), np.eye(3)[[1, 0, 2]], k=1).index.ravel().tolist()
    [1, 0, 2]
    """
    queries, targets = checked.matrices(x, y)
    checked.same_width(queries, targets)
    penalty = WAYS[checked.choice("way", way, WAYS)](targets, queries, checked.count("k", k))
    scores, index = nearest(queries, targets, checked.count("top", top), penalty=penalty)
    return Neighbours(index.numpy(), scores.numpy())


def tatoeba(x: Any, y: Any, *, way: str = "cosine", k: int = 10) -> Accuracy:
    """Sentence retrieval: how often row n of one side is nearest to row n of the other.

    A tie is wrong; chance is 1 / N. ``way`` and ``k`` as in `neighbours`.

    >>> tatoeba(np.eye(4), np.eye(4)[[0, 1, 3, 2]])
    Accuracy(forward=0.5, backward=0.5)
    """
    first, second = checked.matrices(x, y, paired=True, least=2)
    checked.same_width(first, second)
    checked.choice("way", way, WAYS)
    return Accuracy(*paired_accuracy(first, second, way, checked.count("k", k)))


def bli(x: Any, y: Any, pairs: Any = None, *, way: str = "csls", k: int = 10) -> dict[str, float]:
    """Bilingual lexicon induction: P@1, P@5, P@10 and MRR, among all rows of ``y``.

    Args:
        pairs: (P, 2), a row of ``x`` and one of its translations in ``y``; a source word with
            several is scored by the best (default: row n translates row n).
        way, k: as in `neighbours`.

    >>> bli(np.eye(3), np.eye(3)[[1, 0, 2]], [[0, 1], [1, 0]], k=1)["P@1"]
    1.0
    """
    sources, targets = checked.matrices(x, y, paired=pairs is None)
    checked.same_width(sources, targets)
    if pairs is None:
        rows = np.arange(len(sources))[:, None].repeat(2, axis=1)
    else:
        rows = _pairs(pairs, len(sources), len(targets))
    asked, place = np.unique(rows[:, 0], return_inverse=True)
    right = torch.from_numpy(np.stack([place, rows[:, 1]], axis=1))
    penalty = WAYS[checked.choice("way", way, WAYS)](targets, sources, checked.count("k", k))
    return rank_scores(ranks(sources[torch.from_numpy(asked)], targets, right, penalty=penalty))


def mrr(x: Any, y: Any, pairs: Any = None, *, way: str = "cosine", k: int = 10) -> float:
    """Mean reciprocal rank of the right rows, in (0, 1]; arguments as in `bli`."""
    return bli(x, y, pairs, way=way, k=k)["MRR"]


def mds(x: Any, y: Any) -> np.ndarray:
    """The mean of ``y`` (M, D) less the mean of ``x`` (N, D), (D,): what is added to states of one
    language for states of another (Liu et al. 2020, section 4.1).

    >>> mds(np.zeros((2, 2)), [[1.0, 2.0]])
    array([1., 2.])
    """
    first, second = checked.matrices(x, y)
    checked.same_width(first, second)
    return (second.mean(0) - first.mean(0)).numpy()


def mean_shift(x: Any, y: Any, *, held_out: float = 0.5, seed: int = 0) -> Shift:
    """Vector translation: accuracy by Euclidean distance on held-out rows.

    Args:
        held_out: share of the rows to test on; the others give the mean difference.
        seed: of the split, a whole number below 2^32.

    >>> mean_shift(np.arange(8.0)[:, None], np.arange(8.0)[:, None] - 100)
    Shift(before=0.25, after=1.0)
    """
    first, second = checked.matrices(x, y, paired=True, least=2, double=True)
    checked.same_width(first, second)
    share, start = checked.number("held_out", held_out), checked.number("seed", seed, int, SEEDS)
    (found,) = vector_translation(first[None], second[None], share, start).tolist()
    return Shift(*found)


def _pairs(pairs: Any, sources: int, targets: int) -> np.ndarray:
    rows = checked.array("pairs", pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows) or rows.dtype.kind not in "iu":
        raise UserError(
            f"`pairs` must be whole numbers of shape (P, 2), got {rows.dtype} of shape {rows.shape}"
        )
    if (rows < 0).any() or (rows >= (sources, targets)).any():
        raise UserError(
            f"`pairs` must be rows of `x` (below {sources}) and `y` (below {targets}), got "
            f"{rows.max(0).tolist()} at most and {rows.min(0).tolist()} at least"
        )
    return rows.astype(np.int64)
