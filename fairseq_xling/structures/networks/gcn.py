"""Graph convolution over an undirected dependency tree (the transfer note, section 3).

    h_i^l = relu((1 / d_i) sum_{j in N(i)} W^l h_j^{l-1} + b^l)

N(i) is i with its head and dependents, d_i = |N(i)|. No weight depends on the language or on the
order of words. In matrices: relu(D^-1 (A + I) H W + b), a batched product of dense (T, T) matrices,
which for sentences is faster than scattering over edges and gives the same sums in every run.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.structures.networks import networks
from fairseq_xling.structures.trees import adjacency


@networks.register("gcn")
class Gcn(nn.Module):
    """See the module's docstring; ``layers`` may be 0: the states are then the inputs."""

    needs_tree = True

    def __init__(self, inputs: int, layers: int, width: int, dropout: float):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(width if layer else inputs, width) for layer in range(layers)
        )
        self.outputs = width if layers else inputs
        self.dropout = dropout

    def forward(self, x: Tensor, heads: Tensor, mask: Tensor) -> Tensor:
        """See `Network`."""
        if not self.layers:
            return x
        edges = adjacency(heads).to(x.dtype)
        edges = edges / edges.sum(-1, keepdim=True).clamp_(min=1)
        words = x[mask]  # no weight is multiplied with padding
        for number, layer in enumerate(self.layers):
            if number:
                words = F.dropout(words, self.dropout, self.training)
            moved = F.linear(words, layer.weight)
            padded = moved.new_zeros((*mask.shape, moved.shape[1]))
            padded[mask] = moved
            words = torch.relu((edges @ padded)[mask] + layer.bias)
        states = words.new_zeros((*mask.shape, self.outputs))
        states[mask] = words
        return states
