"""Which source position each target position takes: a pointer network on the middle states.

TreLM trains with the target's word order and translates without it (Section 5.3); this head learns
the order from the same alignments, so that translation can have one too. All target positions are
decided at once: the source's middle states and one query per target position go through two
Transformer layers together, and each query then points at a source state or the null state.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.layer import EncoderLayer, attention_mask

MAX_WIDTH = 256
LAYERS = 2


@auxiliary_heads.register("order")
class OrderHead(AuxiliaryHead):
    """Pointer scores over source positions and null; loss: cross-entropy with the alignment."""

    needs_middle = True

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__(shape, num_languages)
        width = min(shape.dim, MAX_WIDTH)
        heads = max(1, width // 64)
        self.reduce = nn.Linear(shape.dim, width)
        self.places = nn.Embedding(shape.max_positions, width)
        self.from_end = nn.Embedding(shape.max_positions, width)
        self.target_language = nn.Embedding(num_languages, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(
            EncoderLayer(width, 4 * width, heads, shape.dropout, 0.0) for _ in range(LAYERS)
        )
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        scores = self.scores(view.middle, view.src.get("padding_mask"), view.tgt)
        rows = view.extra.get("reordered")
        if rows is None or view.order is None:
            return scores.sum() * 0.0, scores.new_zeros(())
        chosen = (rows[:, :1] > 0).expand(view.order.shape)
        if "padding_mask" in view.tgt:
            chosen = chosen & ~view.tgt["padding_mask"]
        gold = view.order.where(view.order >= 0, scores.shape[-1] - 1)
        loss = F.cross_entropy(scores[chosen].float(), gold[chosen], reduction="sum")
        return loss, chosen.sum()

    def scores(self, middle: Tensor, src_padding: Tensor | None, tgt: dict[str, Tensor]) -> Tensor:
        """Pointer scores (B, U, T + 1), null last and padding at minus infinity.

        Args:
            middle: (B, T + 1, D), null last.
            src_padding: (B, T), True at padding, or ``None``.
            tgt: ``positions`` and ``langs`` (B, U), and ``padding_mask`` where padded.
        """
        batch, source = middle.shape[:2]
        positions, padding = tgt["positions"], tgt.get("padding_mask")
        target = positions.shape[1]
        device = middle.device

        places = torch.arange(source - 1, device=device).expand(batch, -1)
        if src_padding is None:
            src_padding = torch.zeros(batch, source - 1, dtype=torch.bool, device=device)
        real = ~src_padding
        left = (real.sum(1, keepdim=True) - 1 - places).clamp(min=0)
        states = self.reduce(middle)
        located = states[:, :-1] + self.places(places) + self.from_end(left)
        states = torch.cat([located, states[:, -1:]], 1)

        if padding is None:
            padding = torch.zeros(batch, target, dtype=torch.bool, device=device)
        rest = ((~padding).sum(1, keepdim=True) - 1 - positions).clamp(min=0)
        queries = self.places(positions) + self.from_end(rest)
        queries = queries + self.target_language(tgt["langs"])

        hidden = F.pad(src_padding, (0, 1), value=False)
        mask = attention_mask(torch.cat([hidden, padding], 1))
        x = self.norm(torch.cat([states, queries], 1))
        for layer in self.layers:
            x = layer(x, mask)
        keys, queries = self.key(x[:, :source]), self.query(x[:, source:])
        scores = queries @ keys.transpose(1, 2) * keys.shape[-1] ** -0.5
        return scores.masked_fill(hidden[:, None], float("-inf"))
