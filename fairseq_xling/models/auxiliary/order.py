"""The target's length and word order, learnt from the alignments together with CdLM.

TreLM trains with the target's word order and translates without it (Appendix A.7): this head
predicts one for translation. It reads the middle states and predicts the three parts of `slots`:

    fertility  a class per source position
    rank       for each two slots, which comes first: s_ij = q_i k_j - q_j k_i + b(i, j), which is
               antisymmetric, so that a local decision ("the verb follows its object") needs no
               counting of positions; b is the language pair's tendency, by the distance of
               the source positions; the order maximises the sum of s over all pairs (`ranking`)
    nulls      a class per slot

Everything is decided in one pass. The number of slots is the rounded *expected* number, not that of
the likeliest fertilities, which are too low: short translations lose more than any order gains.

B batch, T source length, S slots, D width, K candidates.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.auxiliary.slots import Slots, assemble, expand, fertility_of, targets_of
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.layer import EncoderLayer, attention_mask, scaled_products
from fairseq_xling.models.ranking import rank_by_preference

MAX_WIDTH = 256
LAYERS = 2
FERTILITIES = 8  # classes 0 .. 7
NULLS = 5
DISTANCES = 32
_FIRM = 1e3  # a preference that nothing outweighs


class Proposal(NamedTuple):
    """Candidate orders: ``order`` (B, U) with -1 for none, ``lengths`` (B,), ``score`` (B,)."""

    order: Tensor
    lengths: Tensor
    score: Tensor


@auxiliary_heads.register("order")
class OrderHead(AuxiliaryHead):
    """Proposes whole orders; loss: fertilities, ranks of pairs and nulls, per slot.

    It learns from the rows that `fairseq_xling.objectives.cdlm.slots_of` marks.
    """

    needs_middle = True
    needs_order = True

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__(shape, num_languages)
        width = min(shape.dim, MAX_WIDTH)
        heads = max(1, width // 64)
        self.reduce = nn.Linear(shape.dim, width)
        self.places = nn.Embedding(shape.max_positions, width)
        self.copies = nn.Embedding(FERTILITIES, width)
        self.target_language = nn.Embedding(num_languages, width)
        self.norm = nn.LayerNorm(width)
        self.words = EncoderLayer(width, 4 * width, heads, shape.dropout, 0.0)
        self.fertility = nn.Linear(width, FERTILITIES)
        self.layers = nn.ModuleList(
            EncoderLayer(width, 4 * width, heads, shape.dropout, 0.0) for _ in range(LAYERS)
        )
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        # Index 0 is for two slots of one source position, whose order is theirs by definition.
        self.habit = nn.Parameter(torch.full((DISTANCES,), 2.0))
        self.nulls = nn.Linear(width, NULLS)

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        rows = view.extra.get("reordered")
        if rows is None or view.order is None:
            return sum(p.sum() for p in self.parameters()) * 0.0, view.final.new_zeros(())
        # Numbers and not masks: a GPU is waited for at each use of a mask.
        chosen = (rows[:, 0] > 0).nonzero()[:, 0]
        order, middle = view.order[chosen], view.middle[chosen]
        source_padding = padding_of(view.src, middle.shape[1] - 1)[chosen]
        real = ~padding_of(view.tgt, order.shape[1])[chosen]
        words = self.encode(middle, source_padding, view.tgt["langs"][chosen, 0])

        gold = fertility_of(order, real, source_padding.shape[1])
        inside = (~ends_of(source_padding)).nonzero(as_tuple=True)
        loss = F.cross_entropy(
            self.fertility(words)[inside].float(),
            gold[inside].clamp(max=FERTILITIES - 1),
            reduction="sum",
        )
        slots = expand(gold, rows.shape[1])
        place, nulls = targets_of(order, real, rows.shape[1])
        before, null_scores = self.arrange(words, slots)
        used = ~slots.padding
        taken = used.nonzero(as_tuple=True)
        loss = loss + F.cross_entropy(
            null_scores[taken].float(), nulls[taken].clamp(max=NULLS - 1), reduction="sum"
        )
        sign = (place[:, None, :] > place[:, :, None]).float() * 2 - 1
        both = used[:, :, None] & used[:, None, :]
        both = both & ~torch.eye(both.shape[1], dtype=torch.bool, device=both.device)
        pairs = F.softplus(-sign * before.float()).masked_fill(~both, 0.0)
        loss = loss + (pairs.sum(2) / both.sum(2).clamp(min=1)).sum()
        return loss, used.sum()

    def encode(self, middle: Tensor, padding: Tensor, langs: Tensor) -> Tensor:
        """(B, T, width) states of the source words from the middle ones (B, T + 1, D)."""
        x = self.reduce(middle[:, :-1])
        # Other rows of the batch (two sentences in one) may be longer than the table.
        places = torch.arange(x.shape[1], device=x.device).clamp(max=len(self.places.weight) - 1)
        x = x + self.places(places)
        x = self.norm(x + self.target_language(langs)[:, None])
        return self.words(x, attention_mask(padding))

    def arrange(self, words: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
        """Scores (B, S, S) that slot i comes before j, and of the nulls before each (B, S, N)."""
        index = slots.source[..., None].expand(-1, -1, words.shape[-1])
        x = words.gather(1, index) + self.copies(slots.copy.clamp(max=FERTILITIES - 1))
        mask = attention_mask(slots.padding)
        for layer in self.layers:
            x = layer(x, mask)
        products = scaled_products(self.query(x), self.key(x))
        ahead = slots.source[:, None, :] - slots.source[:, :, None]
        number = torch.arange(ahead.shape[1], device=ahead.device)
        sign = (number[None, :] - number[:, None]).sign()
        habit = self.habit[ahead.abs().clamp(max=DISTANCES - 1)] * sign
        return products - products.transpose(1, 2) + habit, self.nulls(x)

    def propose(
        self, middle: Tensor, src_padding: Tensor | None, langs: Tensor, shifts: Sequence[int]
    ) -> list[Proposal]:
        """The order of each row, once for each of ``shifts``: slots more or fewer than expected.

        Args:
            middle: (B, T + 1, D), null last.
            src_padding: (B, T), True at padding, or ``None``.
            langs: (B,), the target's.
        """
        if src_padding is None:
            src_padding = middle.new_zeros(len(middle), middle.shape[1] - 1, dtype=torch.bool)
        words = self.encode(middle, src_padding, langs)
        fertility = self.fertility(words)
        return [self._arranged(words, fertility, src_padding, shift) for shift in shifts]

    def _arranged(self, words: Tensor, logits: Tensor, src_padding: Tensor, shift: int) -> Proposal:
        ends = ends_of(src_padding)
        fertility, score = choose(logits, ends, shift)
        fertility = fertility + (ends & ~src_padding)
        slots = expand(fertility)
        before, null_scores = self.arrange(words, slots)
        hidden = slots.padding
        first = slots.source == 0
        nulls, null_score = choose(null_scores, hidden | first, 0)
        last = slots.source == ((~src_padding).sum(1, keepdim=True) - 1)
        # <s> first, </s> last, and then what is no slot at all.
        tier = 1 - first.int() + (last & ~hidden).int() + 2 * hidden.int()
        firm = (tier[:, None, :] - tier[:, :, None]).clamp(-1, 1) * _FIRM
        rank = rank_by_preference(torch.where(firm == 0, before.float(), firm))
        order, lengths = assemble(slots, rank, nulls)
        return Proposal(order, lengths, score + null_score)


def choose(logits: Tensor, fixed: Tensor, shift: int) -> tuple[Tensor, Tensor]:
    """Classes (B, n) whose sum is the rounded expected sum + ``shift``, and their log-probability.

    From the likeliest classes the cheapest single steps up or down are taken until the sum fits.
    Where ``fixed`` (B, n) the class is 0 and is ignored.
    """
    log_probs = logits.float().log_softmax(-1).masked_fill(fixed[..., None], 0.0)
    classes = torch.arange(logits.shape[-1], device=logits.device)
    best = log_probs.argmax(-1).masked_fill(fixed, 0)
    mean = (log_probs.exp() * classes).sum(-1).masked_fill(fixed, 0.0)
    missing = (mean.sum(1).round().long() + shift - best.sum(1))[:, None]
    step = missing.sign()
    moved = best + step
    here = log_probs.gather(2, best[..., None]).squeeze(2)
    there = log_probs.gather(2, moved.clamp(0, len(classes) - 1)[..., None]).squeeze(2)
    bad = fixed | (moved < 0) | (moved >= len(classes))
    cost = (here - there).masked_fill(bad, float("inf"))
    rank = cost.argsort(1).argsort(1)
    taken = (rank < missing.abs()) & ~bad
    chosen = torch.where(taken, moved, best)
    score = torch.where(taken, there, here).masked_fill(fixed, 0.0).sum(1)
    return chosen, score


def padding_of(side: dict[str, Tensor], length: int) -> Tensor:
    """True at the padding of one side of a batch, (B, ``length``)."""
    mask = side.get("padding_mask")
    if mask is None:
        tokens = side["tokens"]
        mask = torch.zeros(len(tokens), length, dtype=torch.bool, device=tokens.device)
    return mask


def ends_of(padding: Tensor) -> Tensor:
    """True at ``<s>``, ``</s>`` and padding: (B, T)."""
    last = (~padding).sum(1, keepdim=True) - 1
    places = torch.arange(padding.shape[1], device=padding.device)
    return padding | (places == 0) | (places == last)
