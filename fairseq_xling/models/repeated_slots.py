"""Several slots for each source position, in the order of the source."""

import torch
from torch import Tensor

from fairseq_xling.data.batch import target_side
from fairseq_xling.models.emissions import Placed


def repeat_source(lengths: Tensor, langs: Tensor, times: int) -> Placed:
    """``times`` slots for each of ``lengths`` (R,) positions, of the languages (R,).

    They have the position of their source; by `copy_embeddings` a model tells them apart.

    >>> repeat_source(torch.tensor([2]), torch.tensor([0]), 2).order.tolist()
    [[0, 0, 1, 1]]
    """
    tgt = target_side(lengths * times, langs)
    places = torch.arange(tgt["positions"].shape[1], device=lengths.device)
    order = (places // times).expand_as(tgt["positions"])
    return Placed({**tgt, "positions": order}, order, lengths * times)
