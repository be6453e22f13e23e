"""A linear-chain conditional random field (Lafferty et al., 2001), batched over sentences.

    score(x, y) = sum_{i=1..n} P[i, y_i] + sum_{i=0..n} A[y_i, y_{i+1}]

with y_0 = START and y_{n+1} = STOP (Lample et al., 2016, section 2.2). A is in three parts:
``start`` (K,) from START, ``moves`` (K, K) from the row's tag to the column's, ``stop`` (K,) to
STOP. The loops go over positions alone. Scores beyond a sentence's length are not read.

B sentences, N positions, K tags; ``emissions`` are P (B, N, K), ``lengths`` (B,) are at least 1.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Transitions(NamedTuple):
    """A: ``start`` (K,), ``moves`` (K, K), ``stop`` (K,)."""

    start: Tensor
    moves: Tensor
    stop: Tensor


def path_score(
    emissions: Tensor, lengths: Tensor, tags: Tensor, transitions: Transitions
) -> Tensor:
    """score(x, y) of ``tags`` (B, N), (B,).

    >>> flat = Transitions(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2))
    >>> emissions = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> path_score(emissions, torch.tensor([2]), torch.tensor([[1, 0]]), flat).tolist()
    [5.0]
    """
    inside = _inside(emissions, lengths)
    chosen = emissions.gather(2, tags[..., None])[..., 0].masked_fill(~inside, 0).sum(1)
    moves = transitions.moves[tags[:, :-1], tags[:, 1:]].masked_fill(~inside[:, 1:], 0).sum(1)
    last = tags.gather(1, lengths[:, None] - 1)[:, 0]
    return transitions.start[tags[:, 0]] + chosen + moves + transitions.stop[last]


def log_partition(emissions: Tensor, lengths: Tensor, transitions: Transitions) -> Tensor:
    """log sum_y exp score(x, y) over all K^n tag sequences, (B,): the forward algorithm.

    >>> flat = Transitions(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2))
    >>> log_partition(torch.zeros(1, 3, 2), torch.tensor([3]), flat).exp().round().tolist()
    [8.0]
    """
    inside = _inside(emissions, lengths)
    forward = transitions.start + emissions[:, 0]
    for place in range(1, emissions.shape[1]):
        longer = torch.logsumexp(forward[:, :, None] + transitions.moves, 1) + emissions[:, place]
        forward = torch.where(inside[:, place, None], longer, forward)
    return torch.logsumexp(forward + transitions.stop, 1)


def best_path(emissions: Tensor, lengths: Tensor, transitions: Transitions) -> Tensor:
    """The tags (B, N) of the highest score, 0 beyond a sentence's length: Viterbi decoding.

    >>> never = Transitions(torch.zeros(2), torch.tensor([[0.0, -9.0], [0.0, 0.0]]), torch.zeros(2))
    >>> emissions = torch.tensor([[[1.0, 0.0], [0.0, 0.5]]])
    >>> best_path(emissions, torch.tensor([2]), never).tolist()  # 0 to 1 costs 9
    [[0, 0]]
    """
    inside = _inside(emissions, lengths)
    best, origins = transitions.start + emissions[:, 0], []
    for place in range(1, emissions.shape[1]):
        scores, origin = (best[:, :, None] + transitions.moves).max(1)
        origins.append(origin)
        best = torch.where(inside[:, place, None], scores + emissions[:, place], best)
    tag = (best + transitions.stop).argmax(1)
    path = [tag]
    for place in range(emissions.shape[1] - 1, 0, -1):
        before = origins[place - 1].gather(1, tag[:, None])[:, 0]
        tag = torch.where(inside[:, place], before, tag)
        path.append(tag)
    return torch.stack(path[::-1], 1).masked_fill(~inside, 0)


def _inside(emissions: Tensor, lengths: Tensor) -> Tensor:
    """Which positions (B, N) belong to their sentence."""
    return torch.arange(emissions.shape[1], device=lengths.device) < lengths[:, None]
