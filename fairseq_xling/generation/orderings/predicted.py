"""Order and length as the model's own heads predict them from the middle states.

Either a head that proposes whole orders (``slots``), with somewhat more or fewer words for each
further candidate; or the heads ``order`` and ``length``: the most probable lengths are candidates,
and each gets the order that is best for it.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.errors import UserError
from fairseq_xling.generation.frame import target_side
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources, orderings

MOST = 16


@orderings.register("predicted")
class Predicted(Ordering):
    """`--length-candidates` candidates for each sentence."""

    def __init__(self, cfg: Any, models: Sequence[Any]):
        super().__init__(cfg, models)
        proposing = []
        for model in models:
            heads = model.auxiliary
            proposing += [head for head in heads.values() if hasattr(head, "propose")]
            if not proposing and not {"order", "length"} <= set(heads):
                raise UserError(
                    "`--ordering predicted` needs a model with heads for order and length (trained "
                    "with `--auxiliary slots`, or order,length), got one with "
                    f"{','.join(heads) or 'none'}"
                )
        if not 1 <= cfg.length_candidates <= MOST:
            raise UserError(
                f"`--length-candidates` must lie in [1, {MOST}], got {cfg.length_candidates}"
            )
        self.candidates = cfg.length_candidates
        self._proposing = proposing[0] if proposing else None
        if proposing and len(models) > 1:
            raise UserError(
                "`--ordering predicted` with a head that proposes whole orders takes one model in "
                f"`--path`, got {len(models)}"
            )

    def __call__(self, sources: Sources) -> Candidates:
        if self._proposing is not None:
            return self._proposed(sources)
        return self._pointed(sources)

    def _proposed(self, sources: Sources) -> Candidates:
        langs = torch.full_like(sources.lengths, sources.target_lang)
        padding = sources.src.get("padding_mask")
        found = [
            self._proposing.propose(sources.middles[0], padding, langs, _shift(number))
            for number in range(self.candidates)
        ]
        width = max(proposal.order.shape[1] for proposal in found)
        orders = [F.pad(p.order, (0, width - p.order.shape[1]), value=-1) for p in found]
        lengths = torch.stack([p.lengths for p in found], 1).flatten()
        order = torch.stack(orders, 1).flatten(0, 1)[:, : sources.limit]
        if width > sources.limit:
            lengths = lengths.clamp(max=sources.limit)
            order = _with_ends(order, lengths, sources)
        return Candidates(lengths, order, torch.stack([p.score for p in found], 1).flatten())

    def _pointed(self, sources: Sources) -> Candidates:
        """The logarithms that the models of an ensemble give are added."""
        lengths, log_scores = self._likely_lengths(sources)
        count, lengths = lengths.shape[1], lengths.flatten()
        tgt = target_side(lengths, sources.target_lang)
        padding = sources.src.get("padding_mask")
        padding = None if padding is None else padding.repeat_interleave(count, 0)
        scores = 0
        for model, middle in zip(self.models, sources.middles, strict=True):
            middle = middle.repeat_interleave(count, 0)
            scores = scores + model.auxiliary["order"].scores(middle, padding, tgt).log_softmax(-1)
        order = scores.argmax(-1)
        order = order.masked_fill(order == scores.shape[-1] - 1, -1)  # the null state is the last
        return Candidates(lengths, _with_ends(order, lengths, sources), log_scores.flatten())

    def _likely_lengths(self, sources: Sources) -> tuple[Tensor, Tensor]:
        """The best target lengths and their log-probabilities, (B, K) each, best first."""
        padding = sources.src.get("padding_mask")
        langs = torch.full_like(sources.lengths, sources.target_lang)
        scores = 0
        for model, middle in zip(self.models, sources.middles, strict=True):
            logits = model.auxiliary["length"].logits(middle, padding, langs)
            scores = scores + logits.float().log_softmax(-1) / len(self.models)
        reach = scores.shape[1] // 2
        shifts = torch.arange(-reach, reach + 1, device=scores.device)
        lengths = sources.lengths[:, None] + shifts
        scores = scores.masked_fill((lengths < 2) | (lengths > sources.limit), float("-inf"))
        # Every sentence has at least these many lengths to choose from.
        found = scores.topk(min(self.candidates, sources.limit - 1))
        return lengths.gather(1, found.indices), found.values


def _shift(number: int) -> int:
    """How many words more than expected candidate ``number`` has: 0, 1, -1, 2, -2, ..."""
    return (number + 1) // 2 * (1 if number % 2 else -1)


def _with_ends(order: Tensor, lengths: Tensor, sources: Sources) -> Tensor:
    """``order`` (R, U) with ``<s>`` and ``</s>`` taken from theirs, as all training data has it."""
    order = order.clone()
    ends = sources.lengths.repeat_interleave(len(lengths) // len(sources.lengths))
    order[:, 0] = 0
    return order.scatter_(1, lengths[:, None] - 1, ends[:, None] - 1)
