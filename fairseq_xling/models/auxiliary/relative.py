"""Which source tokens a translation keeps, and their pairwise order, learnt together with CdLM.

The relative order of key-points (CLCR, section 3.3; `fairseq_xling.models.ordering.relative`)
applied to translation: an aligned source token is kept, at the position of the first target token
that it is aligned with; the others are dropped. So a target is a permutation of a subset of the
source: at most as long, without nulls, each source token once. The head `order` has fertilities and
nulls; this one measures what extracting and reordering alone can achieve.

B batch, T source length, U target length, S tokens kept, D width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.auxiliary.order import Proposal, choose, ends_of, padding_of
from fairseq_xling.models.auxiliary.slots import Slots, assemble, expand
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.ordering.relative import RelativeOrder

WIDTH = 10


@auxiliary_heads.register("relative")
class RelativeOrderHead(AuxiliaryHead):
    """Proposes orders of kept tokens; loss: kept or not, and order in pairs, per source token."""

    needs_middle = True
    needs_order = True

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__(shape, num_languages)
        self.target_language = nn.Embedding(num_languages, shape.dim)
        self.keep = nn.Linear(shape.dim, 2)
        self.order = RelativeOrder(shape.dim, dropout=shape.dropout)

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        rows = view.extra.get("reordered")
        if rows is None or view.order is None:
            return sum(p.sum() for p in self.parameters()) * 0.0, view.final.new_zeros(())
        # Numbers and not masks: a GPU is waited for at each use of a mask.
        chosen = (rows[:, 0] > 0).nonzero()[:, 0]
        order, middle = view.order[chosen], view.middle[chosen]
        padding = padding_of(view.src, middle.shape[1] - 1)[chosen]
        real = ~padding_of(view.tgt, order.shape[1])[chosen]
        words = self.encode(middle, view.tgt["langs"][chosen, 0])
        ends = ends_of(padding)

        place = first_place(order, real, padding.shape[1])
        kept = (place >= 0) & ~ends
        inside = (~ends).nonzero(as_tuple=True)
        loss = F.cross_entropy(
            self.keep(words)[inside].float(), kept[inside].long(), reduction="sum"
        )
        known = view.extra.get("kept")
        slots = expand((kept | (ends & ~padding)).long(), None if known is None else known.shape[1])
        positions = place.masked_fill(ends, -1).gather(1, slots.source)
        pairs, _ = self.order.loss(self.arrange(words, slots), positions, slots.padding)
        return loss + pairs, (~ends).sum()

    def encode(self, middle: Tensor, langs: Tensor) -> Tensor:
        """(B, T, D) states of the source tokens for a target language, from (B, T + 1, D)."""
        return middle[:, :-1] + self.target_language(langs)[:, None]

    def arrange(self, words: Tensor, slots: Slots) -> Tensor:
        """Log-odds (B, S, S) that a kept token comes before another."""
        states = words.gather(1, slots.source[..., None].expand(-1, -1, words.shape[-1]))
        return self.order(states, slots.padding)

    def propose(
        self,
        middle: Tensor,
        src_padding: Tensor | None,
        langs: Tensor,
        shifts: Sequence[int],
        width: int = WIDTH,
    ) -> list[Proposal]:
        """The order of each row, once for each of ``shifts``: tokens more or fewer than expected.

        Args:
            middle: (B, T + 1, D), null last.
            src_padding: (B, T), True at padding, or ``None``.
            langs: (B,), the target's.
            width: beam width.
        """
        if src_padding is None:
            src_padding = middle.new_zeros(len(middle), middle.shape[1] - 1, dtype=torch.bool)
        words = self.encode(middle, langs)
        logits = self.keep(words)
        return [self._arranged(words, logits, src_padding, shift, width) for shift in shifts]

    def _arranged(
        self, words: Tensor, logits: Tensor, padding: Tensor, shift: int, width: int
    ) -> Proposal:
        ends = ends_of(padding)
        kept, score = choose(logits, ends, shift)
        slots = expand(kept + (ends & ~padding))
        # <s> and </s> keep their places; what is between them is ordered.
        inner = self.arrange(words, slots)[:, 1:-1, 1:-1]
        found = self.order.find(inner, slots.padding[:, 2:], width=width)
        rank = torch.arange(slots.source.shape[1], device=words.device).repeat(len(words), 1)
        rank[:, 1:-1] = found.ranks + 1
        order, lengths = assemble(slots, rank, torch.zeros_like(rank))
        return Proposal(order, lengths, score)


def first_place(order: Tensor, real: Tensor, source_length: int) -> Tensor:
    """The first target position that each source position is aligned with, (B, T); -1 for none.

    Args:
        order: (B, U) source positions, negative for none.
        real: (B, U), False at padding.

    >>> order = torch.tensor([[0, 2, -1, 2, 3]])
    >>> first_place(order, torch.ones(1, 5, dtype=torch.bool), 4).tolist()
    [[0, -1, 1, 4]]
    """
    width = order.shape[1]
    targets = torch.arange(width, device=order.device).expand_as(order)
    targets = targets.masked_fill((order < 0) | ~real, width)
    place = order.new_full((len(order), source_length), width)
    place = place.scatter_reduce(1, order.clamp(min=0), targets, "amin")
    return place.masked_fill(place == width, -1)
