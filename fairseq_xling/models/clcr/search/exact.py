"""The best linear order exactly, for short sentences: a table over all sets of key-points.

The minimum cost of an order that begins with the set S in any order (Held and Karp, 1962, for the
linear ordering problem):

    f(S) = min over x in S of f(S - x) + sum over j not in S of costs[x, j]

It takes O(2^K K) for a sentence; it serves to measure how far a faster search is from the optimum.

B sentences, K key-points, M = 2^K sets; bit i of a set is key-point i.
"""

import torch
from torch import Tensor

from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.search import HIGHEST, UNIT, relative_searches

MOST = 14
_MORE = MOST**2 * int(HIGHEST / UNIT)


@relative_searches.register("exact")
def arrange_exactly(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Ranks (B, K) from costs (B, K, K) of key-point i before j; ``width`` is not read.

    Raises:
        UserError: for a sentence of more than 14 key-points.
    """
    size = costs.shape[1]
    if size > MOST:
        raise UserError(
            f"search 'exact' supports at most {MOST} key-points, got a sentence with {size}; use "
            f"beam"
        )
    padding = torch.arange(size, device=costs.device) >= lengths[:, None]
    # Padding comes last: before one key-point it costs more than all pairs of key-points together.
    costs = costs.masked_fill(padding[:, :, None] & ~padding[:, None], _MORE)
    return torch.cat([_arrange(part) for part in costs.split(max(1, (1 << 20 >> size)))])


def _arrange(costs: Tensor) -> Tensor:
    batch, size = costs.shape[:2]
    sets = torch.arange(1 << size, device=costs.device)
    items = torch.arange(size, device=costs.device)
    inside = (sets[:, None] >> items & 1).bool()  # (M, K)
    # Sums of integers below 2^53 are exact in float64, which has fast products.
    rest = (costs.double() @ (~inside).double().T).transpose(1, 2)  # (B, M, K)
    least = costs.new_zeros(batch, 1 << size, dtype=torch.float64)
    last = torch.zeros(batch, 1 << size, dtype=torch.long, device=costs.device)
    count = inside.sum(1)
    for number in range(1, size + 1):
        layer = sets[count == number]
        shorter = layer[:, None] & ~(1 << items)  # (m, K); the set itself where x is not in it
        sums = (least[:, shorter] + rest[:, layer]).masked_fill(~inside[layer], torch.inf)
        # Among equal ones the first: its number is part of the comparison.
        least[:, layer] = sums.amin(2)
        last[:, layer] = (sums * size + items).argmin(2)
    ranks = costs.new_zeros(batch, size)
    left = costs.new_full((batch, 1), (1 << size) - 1)
    for position in reversed(range(size)):
        item = last.gather(1, left)
        ranks.scatter_(1, item, position)
        left = left & ~(1 << item)
    return ranks
