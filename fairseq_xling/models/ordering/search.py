"""Searches for the best permutation, found by name.

Two problems, both over the permutations of the key-points of a sentence:

    absolute   costs[b, i, p] of key-point i at position p: an assignment
    relative   costs[b, i, j] of key-point i anywhere before j: the linear ordering problem (Martí
               and Reinelt, 2011, "The Linear Ordering Problem", Section 1.1), which is NP-hard

A search is a function ``(costs, lengths, width) -> ranks`` with integer costs >= 0 (B, K, K),
lengths (B,) and ranks (B, K), ``ranks[b, i]`` being the position of key-point i; ``width`` is the
number of hypotheses that it keeps, if any. To add one, put a file here with a function registered
under ``@absolute_searches.register("name")`` or ``@relative_searches.register("name")``.

Costs are integers in units of 2^-20. So a sum does not depend on its order, and a sentence has the
same answer, including ties, alone and in a padded batch, on any device.

B sentences, K key-points (padded at the end), N positions.
"""

from typing import NamedTuple

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.models.ranking import rank_by_preference

_FOLDER = "fairseq_xling.models.ordering"
absolute_searches: Registry = Registry("search for an absolute order", _FOLDER)
relative_searches: Registry = Registry("search for a relative order", _FOLDER)

UNIT = 2.0**-20
HIGHEST = 64.0  # e^-64 is practically impossible; higher costs are clipped to this


class Found(NamedTuple):
    """The permutations that a search found.

    Attributes:
        ranks: (B, K), ``ranks[b, i]`` the position of key-point i; padding keeps its own index.
        cost: (B,) float64, each sentence's sum of the costs that were given, to 2^-20 for each.
    """

    ranks: Tensor
    cost: Tensor


def assign(costs: Tensor, lengths: Tensor, *, search: str = "beam", width: int = 10) -> Found:
    """Assign each key-point to a distinct position, at minimum cost.

    Args:
        costs: (B, K, N) of key-point i at position p, at least 0; a sentence of n key-points has
            the positions 0 .. n - 1. Values above 64, including infinity, count as 64.
        lengths: (B,), key-points of each sentence.
        search: a name of `absolute_searches`.
        width: hypotheses kept for each sentence.

    >>> costs = torch.tensor([[[0.0, 9, 9], [9, 1, 3], [9, 1, 5]]])
    >>> found = assign(costs, torch.tensor([3]))
    >>> found.ranks.tolist(), found.cost.tolist()
    ([[0, 2, 1]], [4.0])

    Raises:
        UserError: for costs that are negative or NaN, for a width below 1, and if N is less
            than the longest sentence.
    """
    longest = _longest(lengths)
    if costs.shape[2] < longest:
        raise UserError(
            f"`costs` must have a position for each key-point, got {costs.shape[2]} positions and "
            f"a sentence with {longest}"
        )
    counted = _counted(costs[:, :longest, :longest], lengths)
    ranks = _searched(absolute_searches[search], counted, lengths, width, costs.shape[1])
    return Found(ranks, assignment_cost(counted, ranks, lengths) * UNIT)


def arrange(costs: Tensor, lengths: Tensor, *, search: str = "beam", width: int = 10) -> Found:
    """The order with the minimum sum of ``costs[b, i, j]`` over all pairs with i before j.

    Args:
        costs: (B, K, K), at least 0; the diagonal is not read. More than 64 counts as 64.
        lengths, search, width: as of `assign`, ``search`` a name of `relative_searches`.

    >>> costs = torch.tensor([[[0.0, 1, 1], [0, 0, 1], [0, 0, 0]]])  # every pair the other way
    >>> found = arrange(costs, torch.tensor([3]))
    >>> found.ranks.tolist(), found.cost.tolist()
    ([[2, 1, 0]], [0.0])

    Raises:
        UserError: for costs that are negative or NaN, and for a width below 1.
    """
    longest = _longest(lengths)
    counted = _counted(costs[:, :longest, :longest], lengths)
    counted = counted.masked_fill(_diagonal(counted), 0)
    ranks = _searched(relative_searches[search], counted, lengths, width, costs.shape[1])
    return Found(ranks, ordering_cost(counted, ranks, lengths) * UNIT)


def assignment_cost(costs: Tensor, ranks: Tensor, lengths: Tensor) -> Tensor:
    """The sum of ``costs[b, i, ranks[b, i]]`` for each sentence, (B,) float64."""
    taken = costs.gather(2, ranks[:, : costs.shape[1], None])[..., 0]
    return taken.masked_fill(~_real(costs, lengths), 0).sum(1).double()


def ordering_cost(costs: Tensor, ranks: Tensor, lengths: Tensor) -> Tensor:
    """The sum of ``costs[b, i, j]`` over all i and j with i ranked before j, (B,) float64."""
    ranks, real = ranks[:, : costs.shape[1]], _real(costs, lengths)
    paid = (ranks[:, :, None] < ranks[:, None]) & real[:, :, None] & real[:, None]
    return costs.masked_fill(~paid, 0).sum((1, 2)).double()


def _counted(costs: Tensor, lengths: Tensor) -> Tensor:
    """Costs in units, and 0 outside a sentence: (B, K, K) int64."""
    real = _real(costs, lengths)
    read = real[:, :, None] & real[:, None]
    costs = costs.masked_fill(~read, 0.0)
    if not bool((costs.masked_fill(_diagonal(costs), 0.0) >= 0).all()):  # nor is NaN
        raise UserError("`costs` of an order must be at least 0, got a negative number or NaN")
    return (costs.double().clamp(0.0, HIGHEST) / UNIT).round().long()


def _searched(search: object, costs: Tensor, lengths: Tensor, width: int, padded: int) -> Tensor:
    """The ranks (B, ``padded``) of a search, padding with its own index."""
    if width < 1:
        raise UserError(f"`width` of a search must be at least 1, got {width}")
    own = torch.arange(padded, device=costs.device).repeat(len(costs), 1)
    if costs.numel():
        real = _real(costs, lengths)
        own[:, : costs.shape[1]][real] = search(costs, lengths, width)[real]
    return own


def _longest(lengths: Tensor) -> int:
    return int(lengths.max()) if len(lengths) else 0


def _real(costs: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(costs.shape[1], device=costs.device) < lengths[:, None]


def _diagonal(costs: Tensor) -> Tensor:
    return torch.eye(costs.shape[1], dtype=torch.bool, device=costs.device)


@absolute_searches.register("hungarian")
def assign_exactly(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """The best assignment exactly (Kuhn, 1955; scipy's Jonker-Volgenant), in O(K^3) for a sentence.

    Ranks (B, K) from costs (B, K, K) of key-point i at position p; ``width`` is not read.
    """
    on_host = costs.cpu().numpy()
    ranks = torch.zeros(costs.shape[:2], dtype=torch.long)
    for row, size in enumerate(lengths.tolist()):
        _, position = linear_sum_assignment(on_host[row, :size, :size])
        ranks[row, :size] = torch.from_numpy(position)
    return ranks.to(costs.device)


@relative_searches.register("local")
def arrange_locally(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Local search for a linear order: start with a sorted one, move one key-point at a time.

    The search of `fairseq_xling.models.ranking`, which the generator's ``predicted`` uses. Ranks
    (B, K) from costs (B, K, K) of key-point i before j; ``width`` is not read.
    """
    gain = (costs.transpose(1, 2) - costs).double() * UNIT
    place = torch.arange(costs.shape[1], device=costs.device)
    padding = place >= lengths[:, None]
    # Padding always comes last: no sum of other costs is as large.
    after = padding.long()[:, None] - padding.long()[:, :, None]
    firm = 1.0 + 2.0 * gain.abs().sum((1, 2))
    return rank_by_preference(torch.where(after == 0, gain, after * firm[:, None, None]))


MOST = 14
_MORE = MOST**2 * int(HIGHEST / UNIT)


@relative_searches.register("exact")
def arrange_exactly(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """The best linear order exactly, for short sentences: a table over all sets of key-points.

    The minimum cost of an order that begins with the set S in any order (Held and Karp, 1962, for
    the linear ordering problem):

        f(S) = min over x in S of f(S - x) + sum over j not in S of costs[x, j]

    It takes O(2^K K) for a sentence; it serves to measure how far a faster search is from the
    optimum. Ranks (B, K) from costs (B, K, K) of key-point i before j; ``width`` is not read.
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
    # M = 2^K sets; bit i of a set is key-point i.
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
