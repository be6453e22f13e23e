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
from fairseq_xling.models.label_log_probs import label_log_probs

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
