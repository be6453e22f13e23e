"""Pseudo-gold pivots: tokens of a sentence and its translation that mean the same, one to one.

CLCR, section 3.2. The distance of token i of s1 and token j of s2 is that of the two one-token
sentences, in both directions, where there is nothing to mix:

    d_ij = || T12(r1_i) - r2_j || + || T21(r2_j) - r1_i ||

A pair is kept if i and j are mutual nearest neighbours and d_ij is under the threshold. So no token
has two partners, and a higher threshold keeps everything that a lower one does.

The paper gives no threshold; it is tuned on known links by `tune_threshold`. A *link* of a gold
alignment is a pair (i, j); the target of a pivot is a *block* of the finest common granularity:

    precision  share of the pivots whose tokens are in one block
    recall     share of the blocks that contain a pivot

With a one-to-one alignment these are the ordinary ones. Tokens without a gold link are of no block.

The finest common granularity of a sentence and its translation (CLCR, section 2.2) is of blocks.
A block is a span of one sentence and a span of the other such that every link of a token in it
stays in it. The finest blocks are the connected components of the alignment, made contiguous: if
the spans of two components cross or are nested, on either side, they are one block. There is
exactly one finest set, since the intersection of two blocks is also closed.

A token without links between two tokens of a block belongs to that block; otherwise to none.

B sentence pairs, M tokens of s1, N of s2, D and E widths of the encoders, n pairs found.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from fairseq_xling.core.errors import UserError


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
    (_, i_node), (_, j_node) = (np.unique(x, return_inverse=True) for x in (i, j))
    size = int(i_node.max()) + 1
    nodes = size + int(j_node.max()) + 1
    graph = sparse.coo_array((np.ones(len(i)), (i_node, size + j_node)), shape=(nodes, nodes))
    component = connected_components(graph, directed=False)[1][i_node]
    _, block = np.unique(component, return_inverse=True)
    merging = True
    while merging:
        merging = False
        for places in (i, j):
            # Overlapping spans are in one group.
            first, last = _spans(block, places)
            order = np.argsort(first, kind="stable")
            reach = np.maximum.accumulate(last[order])
            group = np.empty(len(first), dtype=np.int64)
            group[order] = np.cumsum(np.append(False, first[order][1:] > reach[:-1]))
            if group.max() + 1 < len(group):
                block, merging = group[block], True
    (i_first, i_last), (j_first, j_last) = (_spans(block, places) for places in (i, j))
    order = np.argsort(i_first)
    of = i_first[order] // step
    ends = (i_first, i_last + 1, j_first, j_last + 1)
    return Blocks(of, *(end[order] - of * step for end in ends))


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


_POWERS = {"l1": 1.0, "l2": 2.0}


def pair_distances(
    r1: Tensor, r2: Tensor, transformed1: Tensor, transformed2: Tensor, norm: str = "l2"
) -> Tensor:
    """d, (B, M, N) float32.

    Args:
        r1: (B, M, D); r2: (B, N, E).
        transformed1: T12(r1), (B, M, E); transformed2: T21(r2), (B, N, D).
    """
    return distances_between(transformed1, r2, norm) + distances_between(r1, transformed2, norm)


def distances_between(x: Tensor, y: Tensor, norm: str = "l2") -> Tensor:
    """|| x_i - y_j ||, (B, M, N) float32, of x (B, M, D) and y (B, N, D)."""
    # Not by the faster matrix product, whose error is largest where points are nearest.
    exact = "donot_use_mm_for_euclid_dist"
    return torch.cdist(x.float(), y.float(), p=_POWERS[norm], compute_mode=exact)


class Pivots(NamedTuple):
    """Pairs, sorted by sentence and then by token of s1, as tensors or arrays.

    Attributes:
        row, source, target: (n,) int64; token ``source`` of s1 and ``target`` of s2, in the pair
            of sentences ``row``.
        distance: (n,) float32.
    """

    row: Any
    source: Any
    target: Any
    distance: Any

    def below(self, threshold: float) -> "Pivots":
        """Those under ``threshold``."""
        kept = self.distance < threshold
        return Pivots(*(part[kept] for part in self))


def mutual_best(distances: Tensor, mask1: Tensor, mask2: Tensor) -> Pivots:
    """Pairs of mutual nearest neighbours.

    Args:
        distances: (B, M, N).
        mask1: (B, M) True at content; mask2: (B, N).

    >>> d = torch.tensor([[[1.0, 5.0, 5.0], [2.0, 5.0, 3.0]]])
    >>> found = mutual_best(d, torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 3).bool())
    >>> found.source.tolist(), found.target.tolist()
    ([0], [0])
    """
    distances = distances.masked_fill(~(mask1[:, :, None] & mask2[:, None]), torch.inf)
    if not distances.numel():
        none = torch.zeros(0, dtype=torch.int64, device=distances.device)
        return Pivots(none, none, none, distances.flatten())
    nearest, partner = distances.min(2)
    back = distances.argmin(1).gather(1, partner)
    here = torch.arange(distances.shape[1], device=distances.device)
    row, source = ((back == here) & nearest.isfinite()).nonzero(as_tuple=True)
    return Pivots(row, source, partner[row, source], nearest[row, source])


class Tuned(NamedTuple):
    """A threshold, and its scores against known links; shares in [0, 1]."""

    threshold: float
    precision: float
    recall: float
    f1: float


def tune_threshold(distance: np.ndarray, block: np.ndarray, blocks: int) -> Tuned:
    """The threshold with the best F1; among equally good ones the lowest.

    It is halfway to the next distance, so that it does not depend on the last digit.

    Args:
        distance: (n,) of all mutual best pairs.
        block: (n,) the gold block that contains a pair, -1 for none.
        blocks: number of gold blocks.

    >>> tune_threshold(np.array([0.1, 0.2, 0.9]), np.array([0, 1, -1]), 2)
    Tuned(threshold=0.55, precision=1.0, recall=1.0, f1=1.0)
    """
    if blocks < 1:
        raise UserError("no gold links to tune the threshold on; give `--threshold`")
    order = np.argsort(distance, kind="stable")
    distance, block = distance[order], block[order]
    right = np.cumsum(block >= 0)
    first = np.zeros(len(block), dtype=bool)
    first[np.unique(block, return_index=True)[1]] = True
    found = np.cumsum(first & (block >= 0))
    precision = right / np.arange(1, len(block) + 1)
    recall = found / blocks
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
    # A threshold cannot separate equal distances.
    f1 = np.where(np.append(distance[1:] > distance[:-1], True), f1, -1.0) if len(f1) else f1
    if not len(f1) or f1.max() <= 0:
        raise UserError(
            "no pair of tokens is in a gold block, so no threshold can be tuned; give "
            "`--threshold`, or train the transform longer, and with a lower `--lr` if its "
            "distances did not fall"
        )
    best = int(f1.argmax())
    last = best + 1 == len(distance)
    above = np.nextafter(distance[best], np.inf) if last else distance[best + 1]
    threshold = (float(distance[best]) + float(above)) / 2
    if not threshold > distance[best]:
        threshold = float(above)
    return Tuned(threshold, float(precision[best]), float(recall[best]), float(f1[best]))
