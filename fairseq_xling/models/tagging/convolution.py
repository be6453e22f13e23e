"""Convolutions of several widths and a maximum over real positions, of sequences with padding."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class MaxConvolution(nn.Module):
    """The maximum over positions of relu(convolution), for each width; concatenated.

    A window counts if it lies inside its sequence. A sequence that is shorter than a width has one
    window, filled up with zeros. So what follows a sequence never counts.

    Args:
        dim: width of the input, D.
        maps: filters of each width, M.
        widths: W of them.
    """

    def __init__(self, dim: int, maps: int, widths: Sequence[int]):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(dim, maps, width) for width in widths)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(B, W * M) from ``states`` (B, N, D) and ``lengths`` (B,)."""
        places = torch.arange(states.shape[1], device=lengths.device)
        states = states.masked_fill((places >= lengths[:, None])[..., None], 0).transpose(1, 2)
        found = []
        for layer in self.layers:
            (width,) = layer.kernel_size
            short = max(0, width - states.shape[2])
            maps = layer(nn.functional.pad(states, (0, short))).relu()
            windows = (lengths - width + 1).clamp(min=1)
            beyond = torch.arange(maps.shape[2], device=lengths.device) >= windows[:, None]
            found.append(maps.masked_fill(beyond[:, None], 0).amax(2))  # no relu is below 0
        return torch.cat(found, 1)
