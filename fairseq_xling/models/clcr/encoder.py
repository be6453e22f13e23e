"""A pretrained encoder up to one layer, reading the ids of a data folder: a side of CLCR.

B batch, T length, D width, V entries of the data folder's dictionary of the language.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan


class LayerEncoder(nn.Module):
    """The states after one layer; the layers above are dropped.

    Args:
        config: JSON values: ``shape`` (its ``layers`` are those that are kept), ``size`` of the
            encoder's own vocabulary, ``entries`` V, and ``languages`` and ``language``, the
            number of rows of language embeddings and which one is read.
    """

    def __init__(self, config: Mapping[str, Any]):
        super().__init__()
        shape = EncoderShape(**config["shape"])
        sizes = {str(number): config["size"] for number in range(config["languages"])}
        self.encoder = SeparableEncoder(shape, sizes, SharingPlan())
        del self.encoder.softmax  # no words are predicted
        self.language = config["language"]
        self.register_buffer("ids", torch.zeros(config["entries"], dtype=torch.int64))

    @property
    def width(self) -> int:
        """D."""
        return self.encoder.shape.dim

    def forward(self, src: Mapping[str, Tensor]) -> Tensor:
        """(B, T, D) of a batch's side, whose ``tokens`` are the data folder's."""
        src = {**src, "tokens": self.ids[src["tokens"]]}
        src["langs"] = torch.full_like(src["langs"], self.language)
        return self.encoder.states(src)[-1]


def positions_of(configs: Sequence[Mapping[str, Any]]) -> int:
    """The longest sentence that every side can read."""
    return min(config["shape"]["max_positions"] for config in configs)
