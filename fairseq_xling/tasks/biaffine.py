"""Deep biaffine scores of pairs of words.

Dozat and Manning (2017), "Deep Biaffine Attention for Neural Dependency Parsing", Section 3.2 and
Table 1: each word has one vector as the left member of a pair and another as the right one, made
by a perceptron; dropout has one mask for all words of a sentence.

B sentences, X and Y words, M pairs, I and J sizes of left and right vectors, K outputs. A weight is
(K, I or I + 1, J or J + 1): if it is larger by one, a 1 is appended to the vectors, so that it
contains the terms that are linear in the other side. All scores are computed in float32.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.dropout import SharedDropout


class Perceptron(nn.Sequential):
    """Words (B, X, dim) as members of pairs (B, X, size)."""

    def __init__(self, dim: int, size: int, dropout: float):
        super().__init__(nn.Linear(dim, size), nn.LeakyReLU(0.1), SharedDropout(dropout))


def new_weight(outputs: int, left: int, right: int) -> nn.Parameter:
    """A weight (K, left, right) with equal scores for all pairs, as in Dozat and Manning."""
    return nn.Parameter(torch.zeros(outputs, left, right))


def pair_scores(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    """The scores (B, X, Y, K) of each left word x (B, X, I) with each right word y (B, Y, J).

    >>> x, y = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    >>> pair_scores(x, torch.tensor([[[1.0], [10.0]]]), y)[0, ..., 0].tolist()  # x y + 10 y
    [[60.0, 84.0], [65.0, 91.0]]
    """
    with torch.autocast(x.device.type, enabled=False):
        return torch.einsum("bxkj,byj->bxyk", _half(x, weight), _widened(y, weight.shape[2]))


def chosen_scores(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    """The scores (M, K) of M pairs x (M, I) and y (M, J): the cost is that of M, not of X Y.

    >>> chosen_scores(torch.tensor([[2.0]]), torch.tensor([[[1.0], [10.0]]]), torch.tensor([[5.0]]))
    tensor([[60.]])
    """
    with torch.autocast(x.device.type, enabled=False):
        return torch.einsum("mkj,mj->mk", _half(x, weight), _widened(y, weight.shape[2]))


def _half(x: Tensor, weight: Tensor) -> Tensor:
    """The products of x (..., I) with all left sides of the weight (..., K, J)."""
    outputs, left, right = weight.shape
    flat = weight.float().transpose(0, 1).reshape(left, outputs * right)
    return (_widened(x, left) @ flat).unflatten(-1, (outputs, right))


def _widened(x: Tensor, size: int) -> Tensor:
    return F.pad(x.float(), (0, size - x.shape[-1]), value=1.0)
