"""From word alignments to slots and back: the components of a target order.

An order (U,) is for each target position the source position whose state it gets, or none. It is
equivalent to three things that can each be predicted from the source sentence:

    fertility  how many target positions each source position gets; position i with fertility 2 is
               the slots (i, 0) and (i, 1), by the order of their target positions
    rank       the order of the slots in the target
    nulls      how many target positions with no source come right before each slot

so the target's length is their sum (after IBM model 3: Brown et al., 1993, Section 4.4). The first
and the last source position, ``<s>`` and ``</s>``, always have one slot, the first and the last.

B batch, T source length, U target length, S number of slots.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Slots(NamedTuple):
    """Slots sorted by source position, then copy; padded at the end of short rows.

    Attributes:
        source: (B, S) source position.
        copy: (B, S) which of the source position's slots it is, from 0.
        padding: (B, S), True where a row has no more slots.
    """

    source: Tensor
    copy: Tensor
    padding: Tensor


def fertility_of(order: Tensor, real: Tensor, source_length: int) -> Tensor:
    """How many of the ``real`` (B, U) target positions each source position has, (B, T).

    >>> order = torch.tensor([[0, 2, -1, 2, 3]])
    >>> fertility_of(order, torch.ones(1, 5, dtype=torch.bool), 4).tolist()
    [[1, 0, 2, 1]]
    """
    counts = order.new_zeros(len(order), source_length)
    taken = (order >= 0) & real
    return counts.scatter_add_(1, order.clamp(min=0), taken.to(order.dtype))


def expand(fertility: Tensor, count: int | None = None) -> Slots:
    """The slots of each source position's ``fertility`` (B, T).

    ``count`` is S, where it is known: a GPU is waited for otherwise.

    >>> slots = expand(torch.tensor([[1, 0, 2, 1], [1, 0, 0, 1]]))
    >>> slots.source.tolist(), slots.copy.tolist()
    ([[0, 2, 2, 3], [0, 3, 3, 3]], [[0, 0, 1, 0], [0, 0, 0, 0]])
    >>> slots.padding.tolist()
    [[False, False, False, False], [False, False, True, True]]
    """
    ends = fertility.cumsum(1)
    if count is None:
        count = int(ends[:, -1].max()) if len(ends) else 0
    places = torch.arange(count, device=fertility.device).expand(len(fertility), -1).contiguous()
    source = torch.searchsorted(ends, places, right=True).clamp(max=fertility.shape[1] - 1)
    padding = places >= ends[:, -1:]
    copy = places - (ends - fertility).gather(1, source)
    return Slots(source, copy.masked_fill(padding, 0), padding)


def targets_of(order: Tensor, real: Tensor, slots: int) -> tuple[Tensor, Tensor]:
    """For each slot of ``order`` its target position, and the nulls before it: (B, S) each.

    Padding slots get the highest target position, so that they rank last; ``slots`` is S.

    >>> order = torch.tensor([[0, 2, -1, 1, 2, 3]])  # slots: 0, 1, 2, 2, 3
    >>> place, nulls = targets_of(order, torch.ones(1, 6, dtype=torch.bool), 5)
    >>> place.tolist(), nulls.tolist()
    ([[0, 3, 1, 4, 5]], [[0, 1, 0, 0, 0]])
    """
    width = order.shape[1]
    taken = (order >= 0) & real
    # Sorting by source position and stably by target position lists the slots; the rest last.
    key = order.masked_fill(~taken, torch.iinfo(order.dtype).max)
    place = torch.argsort(key, dim=1, stable=True)
    used = taken.gather(1, place)
    place, used = place[:, :slots], used[:, :slots]
    targets = torch.arange(width, device=order.device).expand_as(order)
    last = targets.masked_fill(~taken, -1).cummax(1).values  # the last taken position up to u
    before = torch.cat([last.new_full((len(last), 1), -1), last[:, :-1]], 1)
    nulls = (targets - before - 1).gather(1, place)
    return place.masked_fill(~used, width - 1), nulls.masked_fill(~used, 0)


def assemble(slots: Slots, rank: Tensor, nulls: Tensor) -> tuple[Tensor, Tensor]:
    """The order (B, U), -1 for none and for padding, and its lengths (B,).

    Args:
        rank: (B, S), a permutation of each row's slots by target position; padding ranks last.
        nulls: (B, S), target positions without a source right before each slot.

    >>> slots = expand(torch.tensor([[1, 1, 2, 1]]))
    >>> rank, nulls = torch.tensor([[0, 2, 1, 3, 4]]), torch.tensor([[0, 1, 0, 0, 0]])
    >>> order, lengths = assemble(slots, rank, nulls)
    >>> order.tolist(), lengths.tolist()
    ([[0, 2, -1, 1, 2, 3]], [6])
    """
    ranked = rank.argsort(1)
    sizes = (nulls + 1).masked_fill(slots.padding, 0).gather(1, ranked)
    ends = sizes.cumsum(1)
    lengths = ends[:, -1]
    order = slots.source.new_full((len(rank), int(lengths.max())), -1)
    real = ~slots.padding.gather(1, ranked)
    rows = torch.arange(len(rank), device=rank.device)[:, None].expand_as(rank)
    order[rows[real], ends[real] - 1] = slots.source.gather(1, ranked)[real]
    return order, lengths
