"""The k largest inner products of every row, and of every column, of a matrix never made whole.

Rows and columns are walked through in blocks. Once a row has k candidates, hardly anything in a
block can be among its largest: all is compared with the k-th so far, and only the few entries above
it are sorted. A block then costs its product and little more; sorting all of it would cost several
times as much.

Symbols: ``N`` rows of ``x``, ``M`` rows of ``y``, ``D`` width; a block is ``R`` by ``C``.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_DENSE = 32  # where more than one entry in so many is above, all are sorted


@dataclass
class Largest:
    """The k largest scores so far of each of N rows, falling, and their columns: (N, k) each.

    Places that are not filled yet have the score -inf.

    >>> best = Largest.none(1, 2, torch.zeros(0))
    >>> best.add_all(torch.tensor([[3.0, 1.0, 2.0]]), torch.arange(3))
    >>> best.add(torch.tensor([0, 0]), torch.tensor([7, 8]), torch.tensor([0.0, 9.0]))
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
        """Rows ``start`` to ``stop``; what is added there is added here."""
        return Largest(self.values[start:stop], self.index[start:stop])

    def mark(self) -> Tensor:
        """(N,) what a further score must exceed."""
        return self.values[:, -1]

    def is_full(self) -> bool:
        """Whether every row has k scores."""
        return bool((self.mark() > -torch.inf).all())

    def add_all(self, scores: Tensor, columns: Tensor) -> None:
        """Add a score for every row in each of C columns: (N, C) and their numbers (C,)."""
        k = min(self.values.shape[1], scores.shape[1])
        # For one it is twice as fast as topk.
        found, place = scores.max(1, keepdim=True) if k == 1 else scores.topk(k)
        self._choose(slice(None), found, columns[place])

    def add(self, rows: Tensor, columns: Tensor, scores: Tensor) -> None:
        """Add n single scores: (n,) each, in any order."""
        above = scores > self.mark()[rows]
        rows, columns, scores = rows[above], columns[above], scores[above]
        if not len(rows):
            return
        rows, order = rows.sort(stable=True)
        rows, counts = rows.unique_consecutive(return_counts=True)
        line = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        first = counts.cumsum(0) - counts
        slot = torch.arange(len(order), device=rows.device) - first[line]
        new = Largest.none(len(rows), int(counts.max()), self.values)
        new.values[line, slot], new.index[line, slot] = scores[order], columns[order]
        self._choose(rows, new.values, new.index)

    def _choose(self, rows: Tensor | slice, values: Tensor, index: Tensor) -> None:
        values = torch.cat([self.values[rows], values], 1)
        index = torch.cat([self.index[rows], index], 1)
        values, place = values.topk(self.values.shape[1])
        self.values[rows], self.index[rows] = values, index.gather(1, place)


class Block:
    """Room for a block of scores, used over and over: fresh memory costs as much time as a look.

    Args:
        size: most rows and most columns of a block.
    """

    def __init__(self, size: int, like: Tensor):
        self._scores = like.new_empty(size * size)
        self._words = torch.zeros(-(-size * size // 8), dtype=torch.int64, device=like.device)
        self._more = torch.empty(size * size, dtype=torch.bool, device=like.device)

    def product(self, x: Tensor, y: Tensor) -> Tensor:
        """``x y^T`` (R, C), which lasts until the next product."""
        return torch.mm(x, y.T, out=self._scores[: len(x) * len(y)].view(len(x), len(y)))

    def keep(
        self,
        scores: Tensor,
        by_row: Largest,
        columns: Tensor,
        by_column: Largest | None = None,
        rows: Tensor | None = None,
    ) -> None:
        """Add the scores (R, C) to the largest of their rows, and of their columns.

        Args:
            by_row: of the R rows; columns: (C,) the numbers of the columns.
            by_column: of the C columns; rows: (R,) the numbers of the rows.
        """
        both = by_column is not None
        filter_rows, filter_columns = by_row.is_full(), both and by_column.is_full()
        if not filter_rows:
            by_row.add_all(scores, columns)
        if both and not filter_columns:
            by_column.add_all(scores.T, rows)
        marks = [by_row.mark()[:, None]] if filter_rows else []
        marks += [by_column.mark()[None]] if filter_columns else []
        if not marks:
            return
        places = self._above_any(scores, marks)
        if len(places) * _DENSE > scores.numel():
            if filter_rows:
                by_row.add_all(scores, columns)
            if filter_columns:
                by_column.add_all(scores.T, rows)
            return
        line, place = places // scores.shape[1], places % scores.shape[1]
        found = scores.flatten()[places]
        if filter_rows:
            by_row.add(line, columns[place], found)
        if filter_columns:
            by_column.add(place, rows[line], found)

    def _above_any(self, scores: Tensor, marks: list[Tensor]) -> Tensor:
        """Places in the flattened ``scores`` of entries that exceed one of the marks."""
        size = scores.numel()
        words = self._words[: -(-size // 8)]
        hits = words.view(torch.bool)
        hits[size:] = False
        first = hits[:size].view(scores.shape)
        torch.gt(scores, marks[0], out=first)
        for mark in marks[1:]:
            more = self._more[:size].view(scores.shape)
            first |= torch.gt(scores, mark, out=more)
        # Eight entries at a time: nearly all are below.
        words = words.nonzero()[:, 0]
        line, place = hits.view(-1, 8)[words].nonzero(as_tuple=True)
        return words[line] * 8 + place


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
    """`largest_of_rows` for ``x`` in ``y`` and for ``y`` in ``x``, with each product made once."""
    best = Largest.none(len(x), min(k_x, len(y)), x), Largest.none(len(y), min(k_y, len(x)), y)
    _walk(x, y, chunk, *best)
    return best


def _walk(x: Tensor, y: Tensor, chunk: int, by_x: Largest, by_y: Largest | None) -> None:
    block = Block(min(chunk, max(len(x), len(y))), x)
    for start in range(0, len(x), chunk):
        stop = min(start + chunk, len(x))
        for first in range(0, len(y), chunk):
            last = min(first + chunk, len(y))
            scores = block.product(x[start:stop], y[first:last])
            block.keep(
                scores,
                by_x.part(start, stop),
                torch.arange(first, last, device=x.device),
                None if by_y is None else by_y.part(first, last),
                torch.arange(start, stop, device=x.device),
            )
