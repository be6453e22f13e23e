"""R: the order of one language's key-points in the other (CLCR, section 3.3)."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairseq_xling.models.ordering import SIDES, head_key, order_heads, reordered_side
from fairseq_xling.papers.clcr.modules import Loss, Module, PairStates, Sizes, modules
from fairseq_xling.papers.clcr.modules.extract import partner_of_source


@modules.register("order")
class OrderModule(Module):
    """A head of `fairseq_xling.models.ordering` on the pseudo-gold pivots of one side.

    It reads T12(r1) for the first side, r2 for the second. It learns from pseudo-gold key-points,
    in the order of their own sentence, and not from those that E would keep, so that it is
    independent of E's errors. The gold position of a key-point is the rank of its pivot in the
    other sentence. Sentences with fewer than two key-points are left out.

    Attributes:
        name: of its head.
        side: 0 if key-points of s1 are put into the order of s2, 1 for the reverse.
    """

    after = ("transform",)
    needs_labels = True

    def __init__(self, settings: Mapping[str, Any], sizes: Sizes):
        super().__init__()
        self.name = settings["head"]
        self.side = SIDES.index(settings.get("side", SIDES[0]))
        kind = order_heads[self.name]
        # A key-point is a token, so a table as long as the encoders' is always enough.
        table = {"positions": settings["positions"] or sizes.positions}
        self.head = kind(sizes.widths[1], **(table if settings["table"] else {}))

    @classmethod
    def key(cls, name: str, cfg: Any) -> str:
        return head_key(cfg.order, cfg.order_side)

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        needs = "positions" in inspect.signature(order_heads[cfg.order]).parameters
        reordered_side(cfg.order_side, "--order-side")  # raises for another name
        found = {"head": cfg.order, "positions": cfg.order_positions, "table": needs}
        return found if cfg.order_side == SIDES[0] else {**found, "side": cfg.order_side}

    def forward(self, batch: PairStates) -> Loss:
        states, positions, padding = key_points_of(batch, self.side)
        several = ((~padding).sum(1) > 1).nonzero()[:, 0]  # once: a GPU is waited for
        states, positions, padding = states[several], positions[several], padding[several]
        names = ("correct", "decisions", "sentences")
        if not len(states):
            zero = sum(p.sum() * 0.0 for p in self.parameters())
            none = torch.zeros((), dtype=torch.int64, device=padding.device)
            return Loss(zero, none, dict.fromkeys(names, none))
        found = self.head(states, padding)
        total, count = self.head.loss(found, positions, padding)
        decided = self.head.correct(found.detach(), positions, padding)
        sums = (*decided, count.new_full((), len(several)))
        return Loss(total, count, dict(zip(names, sums, strict=True)))

    @classmethod
    def scores(cls, sums: Mapping[str, float], pair: Sequence[str]) -> dict[str, float]:
        """The share of the classifier's individual decisions that are correct."""
        decisions = sums["decisions"]
        return {"order_accuracy": sums["correct"] / decisions if decisions else float("nan")}


def key_points_of(batch: PairStates, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """`key_points` of s1 (side 0) with their ranks in s2, or of s2 with theirs in s1."""
    if side == 0:
        return key_points(batch.space, partner_of_source(batch), batch.most)
    partner = batch.partner.masked_fill(~batch.masks[1], -1)
    return key_points(batch.states[1], partner, batch.most)


def key_points(
    states: Tensor, partner: Tensor, most: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Those tokens that have a partner, packed to the front in their order.

    Args:
        states: (B, M, E).
        partner: (B, M) position of the partner in the other sentence, -1 for none.
        most: how many a sentence has at most, where that is known.

    Returns:
        states (B, K, E), positions (B, K), the rank of the partner among the partners, -1 at
        padding, and padding_mask (B, K); K is at least 1.

    >>> states = torch.arange(4.0).view(1, 4, 1)
    >>> packed, positions, padding = key_points(states, torch.tensor([[-1, 5, -1, 2]]))
    >>> packed.flatten().tolist(), positions.tolist(), padding.tolist()
    ([1.0, 3.0], [[1, 0]], [[False, False]])
    """
    chosen = in_text_order(partner >= 0, most, least=1)
    return chosen.of(states), chosen.ranks(partner).masked_fill(chosen.padding, -1), chosen.padding


class Chosen(NamedTuple):
    """Positions (B, K) of tokens in the order of the sequence, then padding; its mask (B, K)."""

    places: Tensor
    padding: Tensor

    def of(self, vectors: Tensor) -> Tensor:
        """These tokens of ``vectors`` (B, T, E): (B, K, E); padding is meaningless."""
        return vectors.gather(1, self.places[..., None].expand(-1, -1, vectors.shape[2]))

    def ranks(self, keys: Tensor) -> Tensor:
        """(B, K) the rank of each of these tokens by its key among ``keys`` (B, T); padding ranks
        last."""
        last = torch.iinfo(torch.int64).max
        return keys.gather(1, self.places).masked_fill(self.padding, last).argsort(1).argsort(1)


def in_text_order(kept: Tensor, most: int | None = None, least: int = 0) -> Chosen:
    """The tokens that are ``kept`` (B, T), in text order.

    Args:
        most: how many a sentence has at most, where that is known.
        least: the least K.

    >>> chosen = in_text_order(torch.tensor([[False, True, True], [True, False, False]]))
    >>> chosen.places.tolist(), chosen.padding.tolist()
    ([[1, 2], [0, 1]], [[False, False], [False, True]])
    """
    counts = kept.sum(1)
    if most is None:
        most = int(counts.max()) if len(counts) else 0
    front = torch.sort((~kept).long(), dim=1, stable=True).indices[:, : max(most, least)]
    return Chosen(front, torch.arange(front.shape[1], device=kept.device) >= counts[:, None])
