"""Several slots for each source position, in the order of the source."""

import torch
from torch import Tensor

from fairseq_xling.data.batch import target_side


def repeat_source(
    lengths: Tensor, langs: Tensor, times: int
) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """``times`` slots for each of ``lengths`` (R,) positions, of the languages (R,): the fields of
    an emission's `Placed`.

    They have the position of their source; by `copy_embeddings` a model tells them apart.

    >>> repeat_source(torch.tensor([2]), torch.tensor([0]), 2)[1].tolist()
    [[0, 0, 1, 1]]
    """
    tgt = target_side(lengths * times, langs)
    places = torch.arange(tgt["positions"].shape[1], device=lengths.device)
    order = (places // times).expand_as(tgt["positions"])
    return {**tgt, "positions": order}, order, lengths * times
