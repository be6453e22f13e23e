"""Ranks of the correct answers among all candidates by cosine, in bounded memory.

Both retrieval measures use this: P@1 is the share of ranks equal to 1, MRR the mean of 1/rank.

Symbols: ``N`` queries, ``M`` targets, ``P`` gold pairs, ``D`` width.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

# Two cosines closer than this are a tie: float32 products of unit vectors differ by about 1e-7
# with the shape of the block they are computed in.
TIE = 1e-6


def ranks(
    queries: Tensor,
    targets: Tensor,
    pairs: Tensor | None = None,
    chunk: int = 1024,
    penalty: Tensor | None = None,
) -> Tensor:
    """Rank of the best correct answer of every query, ties counted against it.

    ``rank(i) = 1 + |{j not right for i : cos(q_i, t_j) >= max_{j right for i} cos(q_i, t_j)}|``,
    so a model that maps everything to one point gets the worst rank, not the best. A zero vector
    has cosine 0 with everything.

    Args:
        queries: (N, D).
        targets: (M, D).
        pairs: (P, 2) int64; ``pairs[p] = (i, j)`` means that target ``j`` is correct for query
            ``i`` (default: target ``i`` is, with ``N == M``).
        chunk: at most ``chunk * chunk`` cosines exist at a time.
        penalty: (M,), subtracted from every cosine to target ``j`` (half of ``r_S`` ranks by CSLS).

    Returns:
        (N,) int64 on the device of ``queries``, 1 = best.

    Raises:
        ValueError: for vectors that are not finite, or a query without a correct answer.

    >>> ranks(torch.eye(3), torch.eye(3)).tolist()
    [1, 1, 1]
    >>> ranks(torch.eye(3), torch.eye(3)[[1, 0, 2]]).tolist()
    [3, 3, 1]
    >>> ranks(torch.ones(3, 2), torch.ones(3, 2)).tolist()  # all tied
    [3, 3, 3]
    >>> ranks(torch.ones(3, 2), torch.ones(3, 2), penalty=torch.tensor([0.0, 0.1, 0.2])).tolist()
    [1, 2, 3]
    """
    if not (torch.isfinite(queries).all() and torch.isfinite(targets).all()):
        raise ValueError("vectors to compare must be finite, got NaN or infinity")
    if pairs is None:
        if len(queries) != len(targets):
            raise ValueError(f"{len(queries)} queries and {len(targets)} targets cannot be paired")
        pairs = torch.arange(len(queries)).unsqueeze(1).expand(-1, 2)
    pairs = pairs.to(queries.device)
    queries, targets = F.normalize(queries, dim=-1), F.normalize(targets, dim=-1)
    best = queries.new_full((len(queries),), -float("inf"))
    for part in pairs.split(chunk * 16):
        scores = (queries[part[:, 0]] * targets[part[:, 1]]).sum(-1)
        if penalty is not None:
            scores = scores - penalty[part[:, 1]]
        best.scatter_reduce_(0, part[:, 0], scores, "amax")
    if torch.isinf(best).any():
        raise ValueError(f"query {int(torch.isinf(best).nonzero()[0])} has no right answer")
    result = pairs.new_ones(len(queries))
    for start in range(0, len(queries), chunk):
        rows = slice(start, start + chunk)
        own = pairs[(pairs[:, 0] >= start) & (pairs[:, 0] < start + chunk)]
        for first in range(0, len(targets), chunk):
            block = targets[first : first + chunk]
            scores = queries[rows] @ block.T
            if penalty is not None:
                scores -= penalty[first : first + len(block)]
            beats = scores >= best[rows, None] - TIE
            gold = own[(own[:, 1] >= first) & (own[:, 1] < first + len(block))]
            beats[gold[:, 0] - start, gold[:, 1] - first] = False
            result[rows] += beats.sum(-1)
    return result


class Repeats(NamedTuple):
    """What is right for ``N`` queries where texts are repeated.

    Attributes:
        queries: rows of the first queries of each text; of: (N,), which of them each query is.
        targets: likewise of the targets.
        pairs: (P, 2), places among ``queries`` and ``targets``; P is at most N.
    """

    queries: Tensor
    of: Tensor
    targets: Tensor
    pairs: Tensor


def right_answers(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[tuple[Repeats | None, Repeats | None], int]:
    """What is right from ``first`` to ``second`` and back, line n of which are texts that translate
    each other: whatever has the text of an answer to the query's text, so a twin is no mistake.

    Returns:
        Both directions, None where no line repeats another; and how many lines do, of both sides.

    >>> (forth, _), count = right_answers(["a", "b", "a"], ["x", "y", "z"])
    >>> forth.of.tolist(), forth.pairs.tolist(), count
    ([0, 1, 0], [[0, 0], [0, 2], [1, 1]], 1)
    """
    (rows, of), (others, of_others) = _distinct(first), _distinct(second)
    count = len(of) - len(rows) + len(of_others) - len(others)
    if not count:
        return (None, None), 0
    pairs = torch.stack([of, of_others], dim=1).unique(dim=0)
    back = Repeats(others, of_others, rows, pairs.flip(1))
    return (Repeats(rows, of, others, pairs), back), count


def _distinct(texts: Sequence[Hashable]) -> tuple[Tensor, Tensor]:
    """Rows of the first of each text, and which of these each one is."""
    numbers: dict[Hashable, int] = {}
    of = torch.tensor([numbers.setdefault(text, len(numbers)) for text in texts])
    rows = torch.full((len(numbers),), len(texts))
    return rows.scatter_reduce(0, of, torch.arange(len(texts)), "amin"), of


def found(
    queries: Tensor,
    targets: Tensor,
    repeats: Repeats | None = None,
    chunk: int = 1024,
    penalty: Tensor | None = None,
) -> Tensor:
    """Whether the nearest target of each query is right, (N,) bool; arguments as for `ranks`.

    >>> found(torch.eye(3)[[0, 1, 1]], torch.eye(3)[[0, 1, 1]]).tolist()
    [True, False, False]
    >>> (forth, _), _ = right_answers("abb", "xyy")
    >>> found(torch.eye(3)[[0, 1, 1]], torch.eye(3)[[0, 1, 1]], forth).tolist()
    [True, True, True]
    """
    if repeats is None:
        return ranks(queries, targets, None, chunk, penalty) == 1
    queries, targets = queries[repeats.queries], targets[repeats.targets]
    penalty = None if penalty is None else penalty[repeats.targets]
    return (ranks(queries, targets, repeats.pairs, chunk, penalty) == 1)[repeats.of]


def nearest(
    queries: Tensor, targets: Tensor, k: int, chunk: int = 1024, penalty: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k`` nearest targets of every query: cosines (N, k) and indices (N, k), best first.

    Args:
        penalty: (M,), subtracted from every cosine to target ``j``, as for `ranks`.

    >>> nearest(torch.tensor([[1.0, 0.2]]), torch.eye(2), 2)[1].tolist()
    [[0, 1]]
    >>> nearest(torch.tensor([[1.0, 0.2]]), torch.eye(2), 1, penalty=torch.tensor([1.0, 0.0]))[1]
    tensor([[1]])
    """
    targets = F.normalize(targets, dim=-1)
    found = []
    for part in queries.split(chunk):
        scores = F.normalize(part, dim=-1) @ targets.T
        if penalty is not None:
            scores -= penalty
        found.append(scores.topk(min(k, len(targets))))
    return torch.cat([scores for scores, _ in found]), torch.cat([index for _, index in found])


TOPS = (1, 5, 10)


def rank_scores(rank: Tensor) -> dict[str, float]:
    """P@1, P@5, P@10 and MRR of ranks (Q,), 1 = best.

    >>> rank_scores(torch.tensor([1, 4, 20, 2]))
    {'P@1': 0.25, 'P@5': 0.75, 'P@10': 0.75, 'MRR': 0.45}
    """
    found = {f"P@{top}": float((rank <= top).double().mean()) for top in TOPS}
    return {**found, "MRR": float((1 / rank.double()).mean())}
