"""The k largest inner products of every row, and of every column, of a matrix never materialised.

Rows and columns are processed in blocks. Once a row has k candidates, hardly anything in a block
can be among its largest. So the maxima of groups of entries, which are quick to compute, are
compared with the k-th so far, and only entries of groups above it are examined. A block then costs
little more than its product; sorting all of it would cost several times as much.

Symbols: ``N`` rows of ``x``, ``M`` rows of ``y``, ``D`` width; a block is ``R`` by ``C``.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_GROUP = 16  # entries
_CROWD = 8  # if more than one entry in so many is in a group above, all are sorted


@dataclass
class Largest:
    """The k largest scores so far of each of N rows, descending, and their indices: (N, k) each.

    Slots that are not filled yet have the score -inf.

    >>> best = Largest.none(1, 2, torch.zeros(0))
    >>> best.offer(torch.tensor([[3.0, 1.0, 2.0]]), torch.arange(3))
    >>> best.offer(torch.tensor([[0.0, 9.0]]), torch.tensor([7, 8]))
    >>> best.values.tolist(), best.index.tolist()
    ([[9.0, 3.0]], [[8, 0]])
    """

    values: Tensor
    index: Tensor

    @classmethod
    def none(cls, rows: int, k: int, like: Tensor) -> "Largest":
        """Nothing yet, of the type and on the device of ``like``."""
        values = like.new_full((rows, k), -torch.inf)
        return cls(values, torch.zeros(rows, k, dtype=torch.int64, device=like.device))

    def part(self, start: int, stop: int) -> "Largest":
        """Rows ``start`` to ``stop``, as a view: offers to it count here."""
        return Largest(self.values[start:stop], self.index[start:stop])

    def mark(self) -> Tensor:
        """(N,) the value that a further score must exceed."""
        return self.values[:, -1]

    def offer(self, scores: Tensor, names: Tensor, dim: int = 1) -> None:
        """Consider C scores for each row.

        Args:
            scores: (N, C), or (C, N) with ``dim`` 0; contiguous in rows.
            names: (C,) their indices.
            dim: dimension of the scores of a row.
        """
        if torch.isinf(self.mark()).any():  # some have fewer than k yet
            return self._take_all(scores, names, dim)
        mark, length = self.mark().unsqueeze(dim), scores.shape[dim] // _GROUP
        # Members of a group are far apart, so that groups are reduced by contiguous ranges.
        groups = scores.narrow(dim, 0, _GROUP * length).unflatten(dim, (_GROUP, length))
        found = (groups.amax(dim) > mark).nonzero()
        if len(found) * _GROUP * _CROWD > scores.numel():
            return self._take_all(scores, names, dim)
        row, group = found[:, 1 - dim], found[:, dim]
        members = groups[row, :, group] if dim else groups[:, group, row].T
        line, place = (members > self.mark()[row, None]).nonzero(as_tuple=True)
        rest = scores.narrow(dim, _GROUP * length, scores.shape[dim] - _GROUP * length)
        more = (rest > mark).nonzero(as_tuple=True)
        self._take(
            torch.cat([row[line], more[1 - dim]]),
            names[torch.cat([place * length + group[line], _GROUP * length + more[dim]])],
            torch.cat([members[line, place], rest[more]]),
        )

    def _take_all(self, scores: Tensor, names: Tensor, dim: int) -> None:
        scores = scores if dim else scores.T.contiguous()
        k = min(self.values.shape[1], scores.shape[1])
        # For one it is twice as fast as topk.
        found, place = scores.max(1, keepdim=True) if k == 1 else scores.topk(k)
        self._choose(slice(None), found, names[place])

    def _take(self, rows: Tensor, names: Tensor, scores: Tensor) -> None:
        """Consider n single scores: (n,) each, in any order."""
        if not len(rows):
            return
        rows, order = rows.sort(stable=True)
        rows, counts = rows.unique_consecutive(return_counts=True)
        line = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        first = counts.cumsum(0) - counts
        slot = torch.arange(len(order), device=rows.device) - first[line]
        new = Largest.none(len(rows), int(counts.max()), self.values)
        new.values[line, slot], new.index[line, slot] = scores[order], names[order]
        self._choose(rows, new.values, new.index)

    def _choose(self, rows: Tensor | slice, values: Tensor, index: Tensor) -> None:
        values = torch.cat([self.values[rows], values], 1)
        index = torch.cat([self.index[rows], index], 1)
        values, place = values.topk(self.values.shape[1])
        self.values[rows], self.index[rows] = values, index.gather(1, place)


class Block:
    """A reusable buffer for a block of products: new memory costs as much as reading it.

    Args:
        size: maximum rows and columns of a block.
        like: a tensor of the type and device to use.
    """

    def __init__(self, size: int, like: Tensor):
        self._room = like.new_empty(size * size)

    def product(self, x: Tensor, y: Tensor) -> Tensor:
        """``x y^T`` (R, C), valid until the next product."""
        return torch.mm(x, y.T, out=self._room[: len(x) * len(y)].view(len(x), len(y)))


def largest_of_rows(x: Tensor, y: Tensor, k: int, chunk: int) -> Largest:
    """The ``k`` largest products of every row of ``x`` (N, D) with rows of ``y`` (M, D).

    >>> largest_of_rows(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 1.0]]), 1, 64).index.tolist()
    [[1], [0]]
    """
    best = Largest.none(len(x), min(k, len(y)), x)
    _walk(x, y, chunk, best, None)
    return best


def largest_of_both(
    x: Tensor, y: Tensor, k_x: int, k_y: int, chunk: int
) -> tuple[Largest, Largest]:
    """`largest_of_rows` for ``x`` in ``y`` and for ``y`` in ``x``, computing each product once."""
    best = Largest.none(len(x), min(k_x, len(y)), x), Largest.none(len(y), min(k_y, len(x)), y)
    _walk(x, y, chunk, *best)
    return best


def _walk(x: Tensor, y: Tensor, chunk: int, by_x: Largest, by_y: Largest | None) -> None:
    block = Block(min(chunk, max(len(x), len(y))), x)
    for start in range(0, len(x), chunk):
        rows = torch.arange(start, min(start + chunk, len(x)), device=x.device)
        for first in range(0, len(y), chunk):
            columns = torch.arange(first, min(first + chunk, len(y)), device=x.device)
            scores = block.product(x[start : start + chunk], y[first : first + chunk])
            by_x.part(start, start + chunk).offer(scores, columns)
            if by_y is not None:
                by_y.part(first, first + chunk).offer(scores, rows, dim=0)
