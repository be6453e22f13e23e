"""The outputs of a tagger: from scores of words to a loss and to tags, found by name.

To add one, register a `torch.nn.Module` under ``@outputs.register("name")``. It is made as
``Kind(K)``. The CRF is a linear-chain conditional random field (Lafferty et al., 2001), batched
over sentences.

    score(x, y) = sum_{i=1..n} P[i, y_i] + sum_{i=0..n} A[y_i, y_{i+1}]

with y_0 = START and y_{n+1} = STOP (Lample et al., 2016, section 2.2). A is in three parts:
``start`` (K,) from START, ``moves`` (K, K) from the row's tag to the column's, ``stop`` (K,) to
STOP. The loops go over positions alone. Scores beyond a sentence's length are not read.

B sentences, N positions, K tags; ``emissions`` are P (B, N, K), ``lengths`` (B,) are at least 1.
"""

from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.registry import Registry


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


class Output(Protocol):
    """One file in this folder."""

    def loss(self, emissions: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        """-log p(tags) of each sentence, (B,); ``tags`` (B, N) beyond a length are not read."""

    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """The most probable tags (B, N), 0 beyond a length."""


outputs: Registry[type[Output]] = Registry("`--tagger`")


@outputs.register("softmax")
class Softmax(nn.Module):
    """The sum of the words' cross-entropies."""

    def __init__(self, tags: int):
        super().__init__()

    def loss(self, emissions: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        places = torch.arange(emissions.shape[1], device=lengths.device)
        outside = places >= lengths[:, None]
        losses = F.cross_entropy(
            emissions.float().transpose(1, 2), tags.clamp(min=0), reduction="none"
        )
        return losses.masked_fill(outside, 0).sum(1)

    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(emissions.shape[1], device=lengths.device)
        return emissions.argmax(-1).masked_fill(places >= lengths[:, None], 0)


@outputs.register("crf")
class Crf(nn.Module):
    """Learnt transitions, zero at first, so that it begins as independent words."""

    def __init__(self, tags: int):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(tags))
        self.moves = nn.Parameter(torch.zeros(tags, tags))
        self.stop = nn.Parameter(torch.zeros(tags))

    @property
    def transitions(self) -> Transitions:
        """In single precision: sums over a sentence lose too much in half of it."""
        return Transitions(self.start.float(), self.moves.float(), self.stop.float())

    def loss(self, emissions: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        emissions, parts = emissions.float(), self.transitions
        gold = path_score(emissions, lengths, tags.clamp(min=0), parts)
        return log_partition(emissions, lengths, parts) - gold

    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        return best_path(emissions.float(), lengths, self.transitions)
