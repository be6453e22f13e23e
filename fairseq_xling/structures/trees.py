"""Neighbours and distances in dependency trees, and the words near the path between two mentions.

The words of all trees have numbers from 0, N words; or there are R trees, T words of the longest,
whose words have numbers of their own. ``heads`` are numbers of words, -1 that of a root.
"""

from typing import NamedTuple

import torch
from torch import Tensor

ROOT = -1  # the head of a word that has none


class Neighbours(NamedTuple):
    """The words at one edge from each word, and the word itself, d_i in all.

    Attributes:
        words: (E,) int64, those of word 0, of word 1 and so on, each in the order of numbers.
        starts: (N,) int64, where those of each word begin.
        shares: (E,) 1 / d of the word whose neighbour it is; own_shares: 1 / d of itself.
    """

    words: Tensor
    starts: Tensor
    shares: Tensor
    own_shares: Tensor


def neighbours(heads: Tensor, dtype: torch.dtype = torch.float32) -> Neighbours:
    """The neighbours of each word, (N,); an edge goes both ways.

    >>> found = neighbours(torch.tensor([-1, 0, 1]))
    >>> found.words.tolist(), found.starts.tolist()
    ([0, 1, 0, 1, 2, 1, 2], [0, 2, 5])
    """
    every = torch.arange(len(heads), device=heads.device)
    below = (heads != ROOT).nonzero()[:, 0]
    above = heads[below]
    of, words = torch.cat([every, below, above]), torch.cat([every, above, below])
    # By number, so that the sums over them do not depend on the direction of an edge.
    order = (of * len(heads) + words).argsort()
    of, words = of[order], words[order]
    counts = of.bincount(minlength=len(heads))
    share = counts.to(dtype).reciprocal()
    return Neighbours(words, counts.cumsum(0) - counts, share[of], share[words])


def distances(heads: Tensor, mask: Tensor) -> Tensor:
    """(R, T, T) float32: edges between two words of one tree, infinite for padding.

    Args:
        heads: (R, T); mask: (R, T) bool, words that are not padding.

    By sets of ancestors: with A[i, k] = 1 if k is i or above i, two words have A_i A_k common ones,
    and their distance is |A_i| + |A_k| - 2 A_i A_k. The sets come from log2 T squarings.

    >>> distances(torch.tensor([[-1, 0, 1, -1]]), torch.arange(4)[None] < 3)[0, 0].tolist()
    [0.0, 1.0, 2.0, inf]
    """
    places = torch.arange(heads.shape[1], device=heads.device)
    parents = (heads[:, :, None] == places) & mask[:, :, None]
    above = (parents | torch.diag_embed(mask)).float()
    for _ in range(max(1, heads.shape[1] - 1).bit_length()):
        above = (above @ above).clamp_(max=1)
    common = above @ above.mT
    depth = above.sum(-1)
    found = depth[:, :, None] + depth[:, None, :] - 2 * common
    return found.masked_fill(~(mask[:, :, None] & mask[:, None, :]), torch.inf)


def near_path(heads: Tensor, mask: Tensor, a: Tensor, b: Tensor, most: int) -> Tensor:
    """(R, T) bool: words at most ``most`` edges away from the shortest path between two mentions.

    The path between mentions of several words is the shortest between a word of one and a word of
    the other (all such paths, if several are equally short). The mentions' own words are kept.

    Args:
        heads, mask: as of `distances`.
        a, b: words of the two mentions, (R, T) bool, at least one each.
    """
    apart = distances(heads, mask)
    from_a = apart.masked_fill(~a[:, None, :], torch.inf).amin(-1)
    from_b = apart.masked_fill(~b[:, None, :], torch.inf).amin(-1)
    through = from_a + from_b
    on_path = (through == through.amin(-1, keepdim=True)) & mask
    away = apart.masked_fill(~on_path[:, None, :], torch.inf).amin(-1)
    return (away <= most) | a | b
