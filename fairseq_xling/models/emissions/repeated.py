"""Several slots for each source position, in the order of the source: a base of emissions."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.data.batch import target_side
from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.models.ctc_beam import Prefixes
from fairseq_xling.models.emissions import Emission, Placed, Written

_BYTES = 1 << 22  # of logits in single precision at a time


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """log softmax(``logits`` (n, V)) at ``labels`` (n, L): (n, L), in single precision.

    A loss that sums over alignments asks at each slot for the words of one translation only. Taking
    them from ``log_softmax`` would keep several tensors of slots x vocabulary in single precision;
    here the logits are read twice, some rows at a time, while they are in the processor's cache.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    >>> label_log_probs(logits, torch.tensor([[2, 2]])).exp().tolist()
    [[0.25, 0.25]]
    """
    return _LabelLogProbs.apply(logits, labels)


class _LabelLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        total = torch.cat([part.float().logsumexp(1) for part in _parts(logits)])
        ctx.save_for_backward(logits, labels, total)
        return logits.gather(1, labels).float() - total[:, None]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        logits, labels, total = ctx.saved_tensors
        result = torch.empty_like(logits)
        parts = zip(*map(_like(logits), (logits, labels, total, grad, result)), strict=True)
        for part, chosen, norm, g, out in parts:
            whole = (part.float() - norm[:, None]).exp_().mul_(-g.sum(1, keepdim=True))
            out.copy_(whole.scatter_add_(1, chosen, g))
        return result, None


def _like(logits: Tensor) -> Any:
    rows = max(1, _BYTES // (4 * logits.shape[1])) if logits.device.type == "cpu" else len(logits)
    return lambda tensor: tensor.split(max(1, rows))


def _parts(logits: Tensor) -> tuple[Tensor, ...]:
    return _like(logits)(logits)


CHOICES = 8  # words that a slot may write in a search


class Repeated(Emission):
    """Slots have the position of their source; by the embedding of their number a model tells those
    of one position apart."""

    orderings: ClassVar[tuple[str, ...]] = ("identity",)
    unrecorded: ClassVar[Mapping[str, Any]] = {"slot_layers": 0}

    def facts(self) -> Mapping[str, Any]:
        facts = {**super().facts(), "upsample": self.shape.upsample}
        return facts | ({"slot_layers": self.shape.slot_layers} if self.shape.slot_layers else {})

    def place(
        self,
        lengths: Tensor,
        order: Tensor | None,
        langs: Tensor,
        extent: tuple[int, bool] | None = None,
    ) -> Placed:
        times = self.shape.upsample
        widened = None if extent is None else (extent[0] * times, extent[1])
        tgt = target_side(lengths * times, langs, widened)
        places = torch.arange(tgt["positions"].shape[1], device=lengths.device)
        order = (places // times).expand_as(tgt["positions"])
        tgt["positions"] = order
        if self.shape.slot_layers:
            tgt["first"] = places[::times].expand(len(lengths), -1)
        return Placed(tgt, order, lengths * times)


def searched(found: Prefixes) -> Written:
    """The translations of a search, each with an ``</s>``.

    A token's log-probability is its share of the score of the translation, the log-probability of
    all ways to write it, with the bonus of each word: a mean of tokens would favour long ones.
    """
    tokens, slots = (F.pad(part.flatten(0, 1), (0, 1)) for part in (found.tokens, found.slots))
    tokens[:, -1] = -1
    sizes = (tokens >= 0).sum(1)
    tokens.scatter_(1, sizes[:, None], SEP)
    kept = torch.arange(tokens.shape[1], device=tokens.device) <= sizes[:, None]
    share = -found.nll.flatten()[:, None] / (sizes[:, None] + 1)
    tokens = tokens.masked_fill(~kept, PAD)
    word = kept & (tokens != SEP)
    return Written(tokens, share * kept, slots, word, kept, torch.ones_like(sizes))


def at_slots(logits: Tensor, labels: Tensor) -> Tensor:
    """(R, S, L) log-probabilities of each row's ``labels`` (R, L), from (R S, V) logits."""
    slots = len(logits) // max(1, len(labels))
    every = labels[:, None].expand(-1, slots, -1).flatten(0, 1)
    return label_log_probs(logits, every).unflatten(0, (len(labels), slots))
