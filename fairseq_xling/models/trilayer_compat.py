"""The TRILayer's encoder with the attention of the code released with TreLM (`--compat`).

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models". The
released code differs from the paper's text (Section 3.1) in what is attended to:

- the source's mask is kept in the upper half, though positions there are the target's;
- the line that should set the TRILayer's own mask compares instead of assigning, so that the
  TRILayer also attends to padding;
- the null state, appended as padding, is read by unaligned positions, but never attended to.

There every batch is padded to length 512, and results depend on that number; here they depend on
the longest row of the batch. Nothing else of that code is reproduced: the null state is still that
of the symbol ``<null>``.

B batch, T source length, U target length.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fairseq_xling.models.trilayer import TriEncoder

_SOURCE = "source_padding_mask"


class CompatTriEncoder(TriEncoder):
    """See the module's docstring."""

    def target_side(
        self, src: Mapping[str, Tensor], tgt: Mapping[str, Tensor], order: Tensor | None
    ) -> Mapping[str, Tensor]:
        return {**super().target_side(src, tgt, order), _SOURCE: _padding(src)}

    def _lower_padding(self, src: Mapping[str, Tensor]) -> Tensor:
        return torch.nn.functional.pad(_padding(src), (0, 1), value=True)

    def _upper_padding(self, tgt: Mapping[str, Tensor]) -> tuple[None, Tensor]:
        return None, resized(tgt[_SOURCE], tgt["positions"].shape[1])


def resized(mask: Tensor, length: int) -> Tensor:
    """A source's padding mask (B, T) resized to ``length`` positions: cut, or with more padding.

    >>> mask = torch.tensor([[False, False, True]])
    >>> resized(mask, 2).tolist(), resized(mask, 5).tolist()
    ([[False, False]], [[False, False, True, True, True]])
    """
    return torch.nn.functional.pad(
        mask[:, :length], (0, max(0, length - mask.shape[1])), value=True
    )


def _padding(src: Mapping[str, Tensor]) -> Tensor:
    """(B, T), also where nothing is padded."""
    mask = src.get("padding_mask")
    return torch.zeros_like(src["positions"], dtype=torch.bool) if mask is None else mask
