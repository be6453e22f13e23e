"""The finest common granularity of a sentence and its translation (CLCR, section 2.2).

A *block* is a span of one sentence and a span of the other such that every link of a token in it
stays in it. The finest blocks are the connected components of the alignment, made contiguous: if
the spans of two components cross or are nested, on either side, they are one block. There is
exactly one finest set, since the intersection of two blocks is also closed.

A token without links between two tokens of a block belongs to that block; otherwise to none.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components


class Blocks(NamedTuple):
    """Blocks of many sentence pairs, (n,) int64 each, sorted by pair and place in s1.

    Attributes:
        row: the pair of sentences.
        source_start, source_end: tokens [start, end) of s1; target_start, target_end: of s2.
    """

    row: np.ndarray
    source_start: np.ndarray
    source_end: np.ndarray
    target_start: np.ndarray
    target_end: np.ndarray


def finest_blocks(row: np.ndarray, source: np.ndarray, target: np.ndarray) -> Blocks:
    """The finest blocks of links (n,): token ``source`` of s1 and ``target`` of s2 in pair ``row``.

    >>> none = np.zeros(4, dtype=np.int64)
    >>> found = finest_blocks(none, np.array([0, 1, 1, 3]), np.array([2, 0, 1, 3]))
    >>> [tuple(map(int, block[1:])) for block in zip(*found)]
    [(0, 1, 2, 3), (1, 2, 0, 2), (3, 4, 3, 4)]
    """
    row, source, target = (np.asarray(x, dtype=np.int64) for x in (row, source, target))
    if not len(row):
        return Blocks(row, *(row.copy() for _ in range(4)))
    # One line of numbers for all sentences of a side; sentences do not touch.
    step = int(max(source.max(), target.max())) + 2
    i, j = row * step + source, row * step + target
    _, i_node = np.unique(i, return_inverse=True)
    _, j_node = np.unique(j, return_inverse=True)
    size = int(i_node.max()) + 1
    nodes = size + int(j_node.max()) + 1
    graph = sparse.coo_array((np.ones(len(i)), (i_node, size + j_node)), shape=(nodes, nodes))
    block = np.unique(connected_components(graph, directed=False)[1][i_node], return_inverse=True)[
        1
    ]
    merging = True
    while merging:
        merging = False
        for places in (i, j):
            group = _touching(*_spans(block, places))
            if group.max() + 1 < len(group):
                block, merging = group[block], True
    (i_first, i_last), (j_first, j_last) = (_spans(block, places) for places in (i, j))
    order = np.argsort(i_first)
    of = i_first[order] // step
    base = of * step
    return Blocks(
        of,
        i_first[order] - base,
        i_last[order] - base + 1,
        j_first[order] - base,
        j_last[order] - base + 1,
    )


def blocks_of_pairs(
    blocks: Blocks, row: np.ndarray, source: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """(n,) the number of the block that contains both tokens of a pair, -1 for none."""
    result = np.full(len(row), -1, dtype=np.int64)
    if not len(row) or not len(blocks.row):
        return result
    step = int(max(source.max(), blocks.source_end.max())) + 2
    starts = blocks.row * step + blocks.source_start  # sorted, and they do not overlap
    found = np.searchsorted(starts, row * step + source, side="right") - 1
    place = np.maximum(found, 0)
    inside = (
        (found >= 0)
        & (blocks.row[place] == row)
        & (source < blocks.source_end[place])
        & (target >= blocks.target_start[place])
        & (target < blocks.target_end[place])
    )
    result[inside] = place[inside]
    return result


def _spans(block: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last position of each block."""
    count = int(block.max()) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(first, block, places)
    np.maximum.at(last, block, places)
    return first, last


def _touching(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(n,) the group number of each span; overlapping spans are in one group."""
    order = np.argsort(first, kind="stable")
    reach = np.maximum.accumulate(last[order])
    group = np.empty(len(first), dtype=np.int64)
    group[order] = np.cumsum(np.append(False, first[order][1:] > reach[:-1]))
    return group
