"""E: which tokens are key-points, for either language (CLCR, section 3.2)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.extractor import MOST, Extractor
from fairseq_xling.models.clcr.keypoints import COUNTS, confusion, shares
from fairseq_xling.models.clcr.modules import Loss, Module, PairStates, Sizes, modules


@modules.register("extract")
class ExtractModule(Module):
    """A classifier of T12(r1) and one of r2.

    Both read the second language's space. Each language has its own, as in the paper's table 2:
    key-points depend on a language's words, and a shared one would see the first language only
    through T.
    """

    after = ("transform",)
    needs_labels = True

    def __init__(self, settings: Mapping[str, Any], sizes: Sizes):
        super().__init__()
        self.delta = settings["delta"]
        rates = settings["rates"]
        self.sides = nn.ModuleList(
            Extractor(
                sizes.widths[1],
                settings["hidden"],
                settings["confident"],
                tuple(rates) if rates else None,
            )
            for _ in range(2)
        )

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        return {
            "delta": cfg.delta,
            "hidden": cfg.extract_hidden,
            "confident": cfg.confident,
            "rates": parse_rates(cfg.flip_rates),
        }

    def forward(self, batch: PairStates) -> Loss:
        total: Tensor = torch.zeros(())
        size, sums = 0, {}
        views = (batch.space, batch.states[1])
        labels = pivot_masks(batch)
        for number, (view, mask, gold) in enumerate(zip(views, batch.masks, labels, strict=True)):
            states, wanted = view[mask], gold[mask]
            extractor = self.sides[number]
            total = total.to(states.device) + extractor.loss(states, wanted)
            size = size + mask.sum()
            with torch.no_grad():
                kept = extractor.probability(states) > self.delta
            for name, count in confusion(kept, wanted).items():
                sums[f"{name}{number + 1}"] = count
        return Loss(total, size, sums)

    @classmethod
    def scores(cls, sums: Mapping[str, float], pair: Sequence[str]) -> dict[str, float]:
        found = {}
        for number, lang in enumerate(pair, start=1):
            counts = {name: sums[f"{name}{number}"] for name in COUNTS}
            for name, share in shares(counts).items():
                found[f"{name}_{lang}"] = math.nan if share is None else share
        return found


def pivot_masks(batch: PairStates) -> tuple[Tensor, Tensor]:
    """(B, M) and (B, N), True at the pseudo-gold pivots of each side."""
    source = partner_of_source(batch)
    return source >= 0, (batch.partner >= 0) & batch.masks[1]


def partner_of_source(batch: PairStates) -> Tensor:
    """(B, M) for each token of s1 its pivot in s2, -1 for none."""
    used = (batch.partner >= 0) & batch.masks[1]
    result = torch.full_like(batch.masks[0], -1, dtype=torch.int64)
    row, target = used.nonzero(as_tuple=True)
    result[row, batch.partner[row, target]] = target
    return result.masked_fill(~batch.masks[0], -1)


def parse_rates(text: str) -> list[float] | None:
    """``0.2,0.1`` as [rho_+, rho_-]; None for no text.

    >>> parse_rates("0.2,0.1")
    [0.2, 0.1]

    Raises:
        UserError: unless they are two shares of less than 0.5.
    """
    if not text:
        return None
    try:
        rates = [float(rate) for rate in text.split(",")]
    except ValueError:
        rates = []
    if len(rates) != 2 or not all(0 <= rate <= MOST for rate in rates):
        raise UserError(
            "`--flip-rates` must be two numbers in [0, 0.45], the share of key-points labelled as "
            f"none and of others labelled as key-points, got {text!r}"
        )
    return rates
