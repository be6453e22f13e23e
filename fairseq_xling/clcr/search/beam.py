"""Beam search for both orders: position by position, all sentences of a batch at once.

A hypothesis is a beginning of the order. What it costs to let key-point i come next is kept as a
running sum, one for each hypothesis and key-point:

    absolute   costs[i, t] at position t
    relative   the sum of costs[i, j] over all j that are not placed yet; once x is placed it falls
               by costs[i, x]

so a step takes O(W K) for a sentence, and an order O(W K^2). With W = 1 the search is greedy.

Equal costs are decided for the better hypothesis, then for the key-point that comes first in its
own sentence: both are part of the number that is compared.

B sentences, K key-points, W hypotheses.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_xling.clcr.search import HIGHEST, UNIT, absolute_searches, relative_searches
from fairseq_xling.errors import UserError


@absolute_searches.register("beam")
def assign_by_beam(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Ranks (B, K) from costs (B, K, K) of key-point i at position p."""
    # A key-point's least cost must be paid anyway: what counts is how much more a choice costs.
    costs = costs - costs.amin(2, keepdim=True)

    def change(step: int, item: Tensor) -> Tensor:
        return (costs[:, :, step + 1] - costs[:, :, step])[:, None]

    return _place(costs[:, :, 0], change, lengths, width)


@relative_searches.register("beam")
def arrange_by_beam(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Ranks (B, K) from costs (B, K, K) of key-point i before j."""
    costs = costs - torch.minimum(costs, costs.transpose(1, 2))  # as above, for each pair
    before = costs.transpose(1, 2).contiguous()
    rows = torch.arange(len(costs), device=costs.device)[:, None]

    def change(step: int, item: Tensor) -> Tensor:
        return -before[rows, item]

    return _place(costs.sum(2), change, lengths, width)


def _place(
    first: Tensor, change: Callable[[int, Tensor], Tensor], lengths: Tensor, width: int
) -> Tensor:
    """Ranks (B, K).

    Args:
        first: (B, K), what each key-point costs at the first position.
        change: of the step and the key-points (B, W) that it placed: what is to be added to the
            costs (B, W or 1, K) of coming next.
    """
    batch, size = first.shape
    # A candidate is one number: its cost, and in the lowest bits which one it is.
    bits = (width * size - 1).bit_length()
    never = 1 << (62 - bits)
    if 4 * size * max(int(first.max()), int(HIGHEST / UNIT)) >= never:
        raise UserError(
            f"a beam of {width} cannot compare so large costs of {size} key-points; take fewer"
        )
    candidate = torch.arange(width * size, device=first.device).view(width, size)
    place = candidate[0]
    ahead = first.masked_fill(place >= lengths[:, None], never)[:, None].repeat(1, width, 1)
    cost = first.new_full((batch, width), never)
    cost[:, 0] = 0
    shortest = int(lengths.min())
    items, parents = [], []
    for step in range(size):
        if step >= shortest:  # a sentence that is over goes on with its padding, for nothing
            over = (lengths <= step)[:, None]
            ahead[:, :, step] = ahead[:, :, step].masked_fill(over, 0)
        key = ((ahead + cost[..., None]).clamp_(max=never) << bits) + candidate
        best = key.flatten(1).topk(width, largest=False).values
        cost, chosen = best >> bits, best & ((1 << bits) - 1)
        parent = chosen // size
        item = chosen - parent * size
        items.append(item)
        parents.append(parent)
        if step + 1 < size:
            ahead = ahead.gather(1, parent[..., None].expand(-1, -1, size))
            ahead += change(step, item)
            ahead.scatter_(2, item[..., None], never)
    ranks = torch.empty_like(first)
    hypothesis = first.new_zeros(batch, 1)
    for step in reversed(range(size)):
        ranks.scatter_(1, items[step].gather(1, hypothesis), step)
        hypothesis = parents[step].gather(1, hypothesis)
    return ranks
