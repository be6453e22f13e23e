"""Tags of a sentence independently of each other."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.tagging.outputs import outputs


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
