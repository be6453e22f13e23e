"""Tags of a sentence together: a linear-chain CRF."""

import torch
from torch import Tensor, nn

from fairseq_xling.models.tagging.crf import Transitions, best_path, log_partition, path_score
from fairseq_xling.models.tagging.outputs import outputs


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
