"""Order and length as predicted by a head of the model from the middle states."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources, orderings
from fairseq_xling.models.auxiliary.order import Proposal


@orderings.register("predicted")
class Predicted(Ordering):
    """`--length-candidates` orders for each sentence: of the expected length, or close to it.

    Attributes:
        name: the ordering's own; head: that of the head that it uses.
    """

    name: ClassVar[str] = "predicted"
    head: ClassVar[str] = "order"

    def __init__(self, cfg: Any, models: Sequence[Any]):
        super().__init__(cfg, models)
        for model in models:
            if self.head not in model.auxiliary:
                raise UserError(
                    f"`--ordering {self.name}` needs a model trained with `--auxiliary "
                    f"{self.head}`, got one with {','.join(model.auxiliary) or 'none'}"
                )
        if len(models) > 1:
            raise UserError(
                f"`--ordering {self.name}` reads the order from one model, so `--path` must name "
                f"one, got {len(models)}"
            )
        self.candidates = cfg.length_candidates

    def __call__(self, sources: Sources) -> Candidates:
        langs = torch.full_like(sources.lengths, sources.target_lang)
        padding = sources.src.get("padding_mask")
        # Words more than expected: 0, -1, 1, -2, 2, ... Fewer first: on multi30k the second
        # candidate gains 0.5 (valid) and 1.1 BLEU (test) this way, nothing with one word more
        # instead, and further candidates gain at most 0.1.
        numbers = range(self.candidates)
        shifts = [(number + 1) // 2 * (-1 if number % 2 else 1) for number in numbers]
        found = self.propose(sources.middles[0], padding, langs, shifts)
        width = max(proposal.order.shape[1] for proposal in found)
        orders = [F.pad(p.order, (0, width - p.order.shape[1]), value=-1) for p in found]
        order = torch.stack(orders, 1).flatten(0, 1)
        lengths = torch.stack([p.lengths for p in found], 1).flatten()
        if width > sources.limit:
            # What has no position is cut, except the end of the sentence.
            order, lengths = order[:, : sources.limit].clone(), lengths.clamp(max=sources.limit)
            ends = sources.lengths.repeat_interleave(self.candidates)
            order.scatter_(1, lengths[:, None] - 1, ends[:, None] - 1)
        return Candidates(lengths, order, torch.stack([p.score for p in found], 1).flatten())

    def propose(
        self, middle: Tensor, src_padding: Tensor | None, langs: Tensor, shifts: Sequence[int]
    ) -> list[Proposal]:
        """What the head proposes; a subclass may pass it more."""
        return self.models[0].auxiliary[self.head].propose(middle, src_padding, langs, shifts)


@orderings.register("relative")
class Relative(Predicted):
    """Some of the source's tokens, ordered by which of each two comes first (CLCR, section 3.3).

    As `Predicted`, for a model trained with `--auxiliary relative`, by a beam of `--order-beam`.
    No source token is used twice, and every target token comes from one.
    """

    name = "relative"
    head = "relative"

    def propose(
        self, middle: Tensor, src_padding: Tensor | None, langs: Tensor, shifts: Sequence[int]
    ) -> list[Proposal]:
        head = self.models[0].auxiliary[self.head]
        return head.propose(middle, src_padding, langs, shifts, self.cfg.order_beam)
