"""The TRILayer's encoder as in the code released with TreLM (`--compat`).

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models". The
released code differs from the paper's text (Section 3.1) in what is read and attended to:

- the source's mask is kept in the upper half, though positions there are the target's;
- the line that should set the TRILayer's own mask compares instead of assigning, so that the
  TRILayer also attends to padding;
- the null state is that of ``<pad>``, appended after the last source token, at its position. It is
  padding: read by unaligned positions, but never attended to, and its embedding is not trained;
- BERT's embeddings of the source have the same language embedding, the second, in every language.
  RoBERTa's, which have one segment, have the source's.

There every batch is padded to length 512, and results depend on that number; here they depend on
the longest row of the batch.

B batch, T source length, U target length.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import PAD
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder

_SOURCE = "source_padding_mask"
_LANGUAGE = 1  # row of the language table


class CompatTriEncoder(TriEncoder):
    """See the module's docstring.

    Raises:
        UserError: for a single language, if the second language's embedding is read.
    """

    # The null state is masked, and so are positions beyond the length of the source.
    reads_padding: ClassVar[bool] = True

    def __init__(self, shape: EncoderShape, vocab_sizes: Mapping[str, int], plan: SharingPlan):
        super().__init__(shape, vocab_sizes, plan)
        self._one_language = shape.language_embeddings and shape.num_segments != 1
        if self._one_language and len(vocab_sizes) <= _LANGUAGE:
            raise UserError(f"`--compat` needs at least 2 languages, got {', '.join(vocab_sizes)}")

    def target_side(
        self, src: Mapping[str, Tensor], tgt: Mapping[str, Tensor], order: Tensor | None
    ) -> Mapping[str, Tensor]:
        return {**super().target_side(src, tgt, order), _SOURCE: _padding(src)}

    def _sum(self, src: Mapping[str, Tensor], lang: str | None) -> Tensor:
        if self._one_language:
            src = {**src, "langs": torch.full_like(src["langs"], _LANGUAGE)}
        return super()._sum(src, lang)

    def _null(self, src: Mapping[str, Tensor], lang: str | None) -> Tensor:
        last = (~_padding(src)).sum(1, keepdim=True) - 1
        place = src["positions"].gather(1, last) + 1
        null = {
            "tokens": torch.full_like(place, PAD),
            "positions": place.clamp(max=self.shape.max_positions - 1),
            "langs": src["langs"][:, :1],
        }
        return super(TriEncoder, self)._sum(null, lang)

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
