"""Distances in dependency trees, and the words near the path between two mentions.

R trees, T words of the longest; ``heads`` (R, T) count from 1, 0 is the root; -1 is padding.
"""

import torch
from torch import Tensor


def adjacency(heads: Tensor) -> Tensor:
    """(R, T, T) bool: an edge between each word and its head, both ways, and one to itself.

    >>> adjacency(torch.tensor([[0, 1, 2]]))[0].int().tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    up = _parents(heads)
    words = torch.diag_embed(heads >= 0)
    return up | up.mT | words


def distances(heads: Tensor) -> Tensor:
    """(R, T, T) float32: edges between two words of one tree, infinite for padding.

    By sets of ancestors: with A[i, k] = 1 if k is i or above i, two words have A_i A_k common ones,
    and their distance is |A_i| + |A_k| - 2 A_i A_k. The sets come from log2 T squarings.

    >>> distances(torch.tensor([[0, 1, 2, -1]]))[0, 0].tolist()
    [0.0, 1.0, 2.0, inf]
    """
    real = heads >= 0
    above = (_parents(heads) | torch.diag_embed(real)).float()
    for _ in range(max(1, heads.shape[1] - 1).bit_length()):
        above = (above @ above).clamp_(max=1)
    common = above @ above.mT
    depth = above.sum(-1)
    found = depth[:, :, None] + depth[:, None, :] - 2 * common
    return found.masked_fill(~(real[:, :, None] & real[:, None, :]), torch.inf)


def near_path(heads: Tensor, a: Tensor, b: Tensor, most: int) -> Tensor:
    """(R, T) bool: words at most ``most`` edges away from the shortest path between two mentions.

    The path between mentions of several words is the shortest between a word of one and a word of
    the other (all such paths, if several are equally short). The mentions' own words are kept.

    Args:
        a, b: words of the two mentions, (R, T) bool, at least one each.
    """
    apart = distances(heads)
    from_a = apart.masked_fill(~a[:, None, :], torch.inf).amin(-1)
    from_b = apart.masked_fill(~b[:, None, :], torch.inf).amin(-1)
    through = from_a + from_b
    on_path = (through == through.amin(-1, keepdim=True)) & (heads >= 0)
    away = apart.masked_fill(~on_path[:, None, :], torch.inf).amin(-1)
    return (away <= most) | a | b


def _parents(heads: Tensor) -> Tensor:
    """(R, T, T) bool: [r, i, j] if j is the head of i."""
    places = torch.arange(1, heads.shape[1] + 1, device=heads.device)
    return heads[:, :, None] == places
