"""Where the real tokens of a batch are: what an encoder needs to compute them without padding.

B examples, source length T, target length U. A model that leaves padding out has its states one
after the other, row by row, (N, D): those of a row, then, with a TRILayer, its null state. Within a
row, tokens of one group (`Example.src`) follow each other, so that whoever attends to each other
is always one segment. All of it is made here, on the host: a device is not waited for.

    src {index, place, bounds, longest, mean, [null]}
    tgt {index, place, bounds, longest, mean, read, [shares]}    with a TRILayer; else it is src
    predicted, rows, columns   (p,) of each predicted position: its state, and where it is in (B, U)

N is the number of states rounded up, so that batches have few shapes; what is added stands at the
end and belongs to nobody.

    index (N,)     position in the flattened (B, T) or (B, U); a null state has its row's first
    place (n,)     of the n states that are no addition, the position in the flattened grid of
                   states: (B, T), with null states (B, T + 1), of the target (B, U)
    bounds (S,)    int32, where segments begin, and N at the end, perhaps several times
    longest        a number of states that no segment exceeds
    mean           states of a segment on average, a whole number
    null (B,)      the null states
    read (N,), or (N, K) with `shares`: the source's states that a target's begins as
    shares (N, K)  float32, how much of each
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fairseq_xling.data.example import Examples
from fairseq_xling.data.sources import spans

_ALIGNED = 128  # the kernel's blocks of a segment
_SEGMENTS = 64  # the number of segments is a multiple of it


def rounded(count: int) -> int:
    """``count`` rounded up by at most 1/32 of it, or to 64.

    >>> [rounded(n) for n in (1, 64, 65, 5000, 60_000)]
    [64, 64, 128, 5120, 60416]
    """
    step = max(64, 1 << max(count // 32, 1).bit_length() - 1)
    return -(-count // step) * step


@dataclass
class _Side:
    """The states of one side, row by row: first of all as elements in the order of positions.

    ``first`` (B,) is each row's first element, ``rank`` (n,) the state of each element.
    """

    first: np.ndarray
    rank: np.ndarray
    layout: dict[str, Any]


def _side(lengths: np.ndarray, groups: np.ndarray | None, null: bool) -> _Side:
    """Of rows of ``lengths`` (B,); ``groups`` (n,) of all elements, null states included."""
    width, each = int(lengths.max()), lengths + null
    ends = each.cumsum()
    first, count = ends - each, int(ends[-1])
    rows = np.repeat(np.arange(len(lengths)), each)
    columns = np.arange(count) - first[rows]
    order = np.arange(count) if groups is None else np.lexsort((groups, rows))
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    rows, columns = rows[order], columns[order]
    starts = np.ones(count, dtype=bool)
    starts[1:] = rows[1:] != rows[:-1]
    if groups is not None:
        starts[1:] |= groups[order][1:] != groups[order][:-1]
    bounds = np.flatnonzero(starts)
    longest = -(-int(np.diff(bounds, append=count).max()) // _ALIGNED) * _ALIGNED
    total, mean = rounded(count), count // len(bounds)
    bounds = np.concatenate([bounds, np.arange(count, total, longest), [total]])
    more = -len(bounds) % _SEGMENTS
    inside = columns < lengths[rows]
    layout = {
        "index": _filled(rows * width + np.where(inside, columns, 0), total),
        "place": torch.from_numpy(rows * (width + null) + np.where(inside, columns, width)),
        "bounds": torch.from_numpy(np.append(bounds, np.full(more, total)).astype(np.int32)),
        "longest": longest,
        "mean": mean,
    }
    if null:
        layout["null"] = torch.from_numpy(rank[first + lengths])
    return _Side(first, rank, layout)


def _filled(array: np.ndarray, total: int) -> torch.Tensor:
    """``array`` (n, ...) with zeros up to ``total``."""
    padded = np.zeros((total, *array.shape[1:]), dtype=array.dtype)
    padded[: len(array)] = array
    return torch.from_numpy(padded)


def unpadded_layout(examples: Examples, null: bool) -> dict[str, Any]:
    """The layout of a batch of ``examples``, see the top of this file.

    Args:
        null: whether the model has a TRILayer, and so a null state in each row.
    """
    lengths, sizes = examples.lengths, examples.sizes
    groups = examples.src.get("attn_group")
    if groups is not None and null:  # group 0 is that of null states
        groups = np.insert(groups, lengths.cumsum(), 0)
    source = target = _side(lengths, groups, null)
    found: dict[str, Any] = {"src": source.layout}
    if null:
        order = _read(examples)
        null_state, first = (np.repeat(x, sizes)[:, None] for x in (lengths, source.first))
        begun = first + np.where(order < 0, null_state, order)
        target = _side(sizes, None if groups is None else groups[begun[:, 0]], False)
        target.layout |= _begun(order, source.rank[begun], target)
        found["tgt"] = target.layout
    predicted = np.flatnonzero(examples.tgt["predict"])
    places = {
        "predicted": target.rank[predicted],
        "rows": np.repeat(np.arange(len(sizes)), sizes)[predicted],
        "columns": spans(0, sizes)[predicted],
    }
    return {**found, **{name: torch.from_numpy(place) for name, place in places.items()}}


def _read(examples: Examples) -> np.ndarray:
    """(M, K) the source positions that target positions begin as, -1 for none."""
    sizes, tables = examples.sizes, examples.further
    order = spans(0, sizes) if examples.order is None else examples.order
    depth = max((table.shape[1] for table in tables if table is not None), default=0)
    read = np.full((len(order), 1 + depth), -1)
    read[:, 0] = order
    for start, table in zip((sizes.cumsum() - sizes).tolist(), tables, strict=False):
        if table is not None:
            read[start : start + len(table), 1 : 1 + table.shape[1]] = table
    return read


def _begun(order: np.ndarray, read: np.ndarray, target: _Side) -> dict[str, torch.Tensor]:
    """``read`` (M, K) and, with further links in ``order`` (M, K), ``shares`` of the target."""
    total = len(target.layout["index"])
    in_order = np.empty_like(read)
    in_order[target.rank] = read
    if order.shape[1] == 1:
        return {"read": _filled(in_order[:, 0], total)}
    linked = order >= 0
    linked[:, 0] |= ~linked.any(1)  # the null state
    shares = (linked / linked.sum(1, keepdims=True)).astype(np.float32)
    sorted_shares = np.empty_like(shares)
    sorted_shares[target.rank] = shares
    return {"read": _filled(in_order, total), "shares": _filled(sorted_shares, total)}
