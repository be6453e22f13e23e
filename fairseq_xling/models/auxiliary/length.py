"""How long the translation is: the difference of the lengths, from the middle states.

A non-autoregressive generator must know the number of target tokens before it writes any (Gu et
al., 2018). The classes are target length - source length, cut to +-`REACH`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape

REACH = 64


@auxiliary_heads.register("length")
class LengthHead(AuxiliaryHead):
    """2 x `REACH` + 1 classes; loss: cross-entropy per sentence pair."""

    needs_middle = True

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__(shape, num_languages)
        width = min(shape.dim, 256)
        self.per_token = nn.Linear(shape.dim, width)
        self.source_length = nn.Embedding(shape.max_positions + 1, width)
        self.target_language = nn.Embedding(num_languages, width)
        self.hidden = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, 2 * REACH + 1)

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        logits = self.logits(view.middle, view.src.get("padding_mask"), view.tgt["langs"][:, 0])
        rows = view.extra.get("reordered")
        if rows is None:
            return logits.sum() * 0.0, logits.new_zeros(())
        chosen = rows[:, 0] > 0
        shift = _lengths(view.tgt) - _lengths(view.src)
        classes = shift.clamp(-REACH, REACH) + REACH
        loss = F.cross_entropy(logits[chosen].float(), classes[chosen], reduction="sum")
        return loss, chosen.sum()

    def logits(self, middle: Tensor, src_padding: Tensor | None, langs: Tensor) -> Tensor:
        """(B, 2 x REACH + 1) scores of target length - source length = class - REACH.

        Args:
            middle: (B, T + 1, D), null last.
            src_padding: (B, T), True at padding, or ``None``.
            langs: (B,), the target's.
        """
        x = F.gelu(self.per_token(middle[:, :-1]))
        if src_padding is not None:
            x = x.masked_fill(src_padding[..., None], 0.0)
            lengths = (~src_padding).sum(1)
        else:
            lengths = torch.full_like(langs, x.shape[1])
        # A length is a sum over words (each brings its number of target words), so the sum is a
        # feature beside the mean; 1/16 keeps it in the mean's range.
        total = x.sum(1)
        mean = total / lengths[:, None] + self.source_length(lengths) + self.target_language(langs)
        return self.output(F.gelu(self.hidden(torch.cat([mean, total / 16], -1))))


def _lengths(side: dict[str, Tensor]) -> Tensor:
    tokens = side["tokens"]
    if "padding_mask" not in side:
        return torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
    return (~side["padding_mask"]).sum(1)
