"""The sentence-level language discriminator D and its loss."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.tagging.convolution import MaxConvolution


class Discriminator(nn.Module):
    """One decision for a sentence: the logit of q = P(target language), from its states h.

    B sentences, N positions, D width.
    """

    def __init__(self, dim: int, maps: int, widths: Sequence[int], dropout: float):
        super().__init__()
        self.convolution = MaxConvolution(dim, maps, widths)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(maps * len(widths), 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B,) from ``states`` (B, N, D)."""
        return self.out(self.dropout(self.convolution(states, lengths)))[:, 0]


def language_loss(logits: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """L_D: the mean over sentences of -l' log q - (1 - l') log(1 - q).

    Args:
        logits: (B,), of q.
        target: (B,) bool, l: whether a sentence is of the target language.
        smoothing: eps of l' = l (1 - eps) + (1 - l) eps.
    """
    l = target.float()
    smooth = l * (1 - smoothing) + (1 - l) * smoothing
    return F.binary_cross_entropy_with_logits(logits.float(), smooth)
