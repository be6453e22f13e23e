"""Ranks of the correct answers among all candidates by cosine, in bounded memory.

Both retrieval measures use this: P@1 is the share of ranks equal to 1, MRR the mean of 1/rank.

Symbols: ``N`` queries, ``M`` targets, ``P`` gold pairs, ``D`` width.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

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


def right_answers(
    queries: Sequence[Hashable], targets: Sequence[Hashable]
) -> tuple[Tensor | None, int]:
    """The pairs that `ranks` takes, where query n and target n have these texts: a target is right
    if its text is that of an answer to the query's text, so that a twin is no mistake.

    Returns:
        (P, 2) int64, or None where no text is repeated; and how many lines repeat an earlier one on
        their side, of both sides.

    >>> right_answers(["a", "b", "a"], ["x", "y", "z"])[0].tolist()
    [[0, 0], [0, 2], [1, 1], [2, 0], [2, 2]]
    """
    repeated = sum(len(side) - len(set(side)) for side in (queries, targets))
    if not repeated:
        return None, 0
    answers, places = defaultdict(set), defaultdict(list)
    for number, (query, target) in enumerate(zip(queries, targets, strict=True)):
        answers[query].add(target)
        places[target].append(number)
    pairs = [
        (number, place)
        for number, query in enumerate(queries)
        for place in sorted(place for target in answers[query] for place in places[target])
    ]
    return torch.tensor(pairs, dtype=torch.int64), repeated


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
