"""A bidirectional LSTM over the order of the words, for comparison with what sees the tree."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_xling.errors import UserError
from fairseq_xling.structures.networks import networks


@networks.register("lstm")
class Lstm(nn.Module):
    """``layers`` of them, ``width`` units in both directions together; reads no tree."""

    needs_tree = False

    def __init__(self, inputs: int, layers: int, width: int, dropout: float):
        super().__init__()
        if width % 2:
            raise UserError(f"`--width` must be even for the network lstm, got {width}")
        self.outputs = width if layers else inputs
        self.inner = (
            nn.LSTM(
                inputs,
                width // 2,
                layers,
                batch_first=True,
                bidirectional=True,
                dropout=dropout if layers > 1 else 0.0,
            )
            if layers
            else None
        )

    def forward(self, x: Sequence[Tensor], heads: Tensor, sizes: Tensor) -> Tensor:
        """See `Network`."""
        words = torch.cat(list(x), -1)
        if self.inner is None:
            return words
        mask = torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None]
        padded = words.new_zeros(*mask.shape, words.shape[1])
        padded[mask] = words
        packed = pack_padded_sequence(padded, sizes.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.inner(packed)[0], True, total_length=mask.shape[1])
        return states[mask]
