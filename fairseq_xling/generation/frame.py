"""The tensors of both sides of a translation, from tokens and lengths alone.

B sentences, T source length, R rows, U target length.
"""

import torch
from torch import Tensor

Side = dict[str, Tensor]


def source_side(tokens: Tensor, lengths: Tensor, lang: int) -> Side:
    """``tokens`` (B, T) as model inputs, with ``padding_mask`` only where one is needed."""
    return {"tokens": tokens, **_places(lengths, tokens.shape[1], lang)}


def target_side(lengths: Tensor, lang: int) -> Side:
    """``langs``, ``positions`` and perhaps ``padding_mask`` (R, U) of targets of ``lengths`` (R,).

    >>> target_side(torch.tensor([3, 2]), 1)["positions"].tolist()
    [[0, 1, 2], [0, 1, 0]]
    """
    return _places(lengths, int(lengths.max()), lang)


def _places(lengths: Tensor, width: int, lang: int) -> Side:
    positions = torch.arange(width, device=lengths.device).expand(len(lengths), -1)
    side = {"langs": torch.full_like(positions, lang), "positions": positions}
    if int(lengths.min()) < width:
        mask = positions >= lengths[:, None]
        side |= {"positions": positions.masked_fill(mask, 0), "padding_mask": mask}
    return side
