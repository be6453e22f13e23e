"""Several slots for each source position, in the order of the source: a base of emissions."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from fairseq_xling.data.batch import target_side
from fairseq_xling.models.emissions import Emission, Placed
from fairseq_xling.models.label_log_probs import label_log_probs


class Repeated(Emission):
    """Slots have the position of their source; by the embedding of their number a model tells those
    of one position apart."""

    orderings: ClassVar[tuple[str, ...]] = ("identity",)

    def facts(self) -> Mapping[str, Any]:
        return {**super().facts(), "upsample": self.shape.upsample}

    def place(self, lengths: Tensor, order: Tensor | None, langs: Tensor) -> Placed:
        times = self.shape.upsample
        tgt = target_side(lengths * times, langs)
        places = torch.arange(tgt["positions"].shape[1], device=lengths.device)
        order = (places // times).expand_as(tgt["positions"])
        return Placed({**tgt, "positions": order}, order, lengths * times)


def at_slots(logits: Tensor, labels: Tensor) -> Tensor:
    """(R, S, L) log-probabilities of each row's ``labels`` (R, L), from (R S, V) logits."""
    slots = len(logits) // max(1, len(labels))
    every = labels[:, None].expand(-1, slots, -1).flatten(0, 1)
    return label_log_probs(logits, every).unflatten(0, (len(labels), slots))
