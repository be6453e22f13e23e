"""From pairwise preferences to an order: the linear ordering problem, by local search.

``s[i, j] > 0`` means that i comes before j. The best order maximises the sum of ``s`` over all
pairs in it, which is the likeliest one if pairs were independent with ``s`` as log-odds. Finding it
is NP-hard; moving one item at a time to its best place, the best move first, nearly always finds it
for sentences. (Martí and Reinelt, 2011, "The Linear Ordering Problem", Section 2.3.)

B batch, S items.
"""

import torch
from torch import Tensor


def rank_by_preference(scores: Tensor, rounds: int | None = None) -> Tensor:
    """The rank (B, S) of each item.

    The search starts from the items sorted by how many others are expected before them.

    Args:
        scores: (B, S, S), antisymmetric.
        rounds: maximum number of moves (default: S).

    >>> s = torch.tensor([[[0.0, 1, -2], [-1, 0, 3], [2, -3, 0]]])
    >>> rank_by_preference(s).tolist()  # 1, 2, 0
    [[2, 0, 1]]
    """
    count = scores.shape[1]
    order = scores.sigmoid().sum(1).argsort(dim=1, stable=True)
    rows = torch.arange(len(order), device=order.device)
    places = torch.arange(count, device=order.device)
    for _ in range(count if rounds is None else rounds):
        gains = _gains(_arranged(scores, order))
        best, move = gains.flatten(1).max(1)
        if not bool((best > 1e-6).any()):
            break
        here, there = move // count, move % count
        # The item at `here` goes to `there`; those in between move by one.
        key = places.expand_as(order).float().clone()
        shift = torch.where(there > here, 0.5, -0.5)
        key[rows, here] = torch.where(best > 1e-6, there + shift, here.float())
        order = order.gather(1, key.argsort(dim=1, stable=True))
    return order.argsort(1)


def _arranged(scores: Tensor, order: Tensor) -> Tensor:
    """``scores`` with rows and columns in the given order."""
    count = scores.shape[1]
    rows = scores.gather(1, order[:, :, None].expand(-1, -1, count))
    return rows.gather(2, order[:, None, :].expand(-1, count, -1))


def _gains(scores: Tensor) -> Tensor:
    """(B, S, S): the gain of the sum if the item at place p moves to place q, 0 for q = p."""
    # To the right, p jumps over p + 1 .. q, and loses s[p, x] for each of them twice.
    right = -2 * scores.triu(1).cumsum(2)
    # To the left, over q .. p - 1, and gains s[p, x] for each of them twice.
    left = 2 * scores.tril(-1).flip(2).cumsum(2).flip(2)
    return right.triu(1) + left.tril(-1)
