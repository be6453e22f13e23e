"""E: which tokens are key-points, for either language (CLCR, section 3.2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.encoder import LayerEncoder
from fairseq_xling.models.clcr.extractor import MOST, Extractor
from fairseq_xling.models.clcr.keypoints import COUNTS, confusion, shares
from fairseq_xling.models.clcr.modules import Loss, Module, PairStates, Sizes, modules
from fairseq_xling.models.clcr.phases import ENCODERS, FINETUNE, FROZEN
from fairseq_xling.registry import unknown_name


@modules.register("extract")
class ExtractModule(Module):
    """A classifier of T12(r1) and one of r2.

    Both read the second language's space. Each language has its own, as in the paper's table 2:
    key-points depend on a language's words, and a shared one would see the first language only
    through T.

    With `--extract-encoder finetune` (first row of that table) each classifier reads instead the
    states of its own copy of its language's encoder, before T, and trains both. The copies only
    decide what is kept: the vectors that are kept, and those that R reads, stay those of the
    aligned encoders.

    Attributes:
        encoders: the copies, none with frozen ones.
    """

    after = ("transform",)
    needs_labels = True

    def __init__(self, settings: Mapping[str, Any], sizes: Sizes):
        super().__init__()
        self.delta = settings["delta"]
        rates = settings["rates"]
        copied = sizes.encoders if settings.get("encoder", FROZEN) == FINETUNE else ()
        self.encoders = nn.ModuleList(LayerEncoder(one) for one in copied)
        self.sides = nn.ModuleList(
            Extractor(
                width,
                settings["hidden"],
                settings["confident"],
                tuple(rates) if rates else None,
            )
            for width in (sizes.widths if copied else (sizes.widths[1],) * 2)
        )

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        check_encoder(cfg.extract_encoder)
        found = {
            "delta": cfg.delta,
            "hidden": cfg.extract_hidden,
            "confident": cfg.confident,
            "rates": parse_rates(cfg.flip_rates),
        }
        return found if cfg.extract_encoder == FROZEN else {**found, "encoder": FINETUNE}

    def begin(self, first: Iterable[PairStates], encoders: Sequence[nn.Module]) -> None:
        """The copies start as the aligned encoders."""
        for copy, encoder in zip(self.encoders, encoders, strict=False):
            copy.load_state_dict(encoder.state_dict())

    def read(self, side: int, space: Tensor, source: Mapping[str, Tensor]) -> Tensor:
        """The states (B, T, D or E) of a batch's side 0 or 1 that its classifier reads.

        Args:
            space: (B, T, E), T12 of the first side's states, or the second side's.
            source: the side as encoders read it.
        """
        return self.encoders[side](source) if self.encoders else space

    def read_pair(self, batch: PairStates) -> tuple[Tensor, Tensor]:
        """`read` of both sides of a batch."""
        first, second = batch.sources or ({}, {})
        return self.read(0, batch.space, first), self.read(1, batch.states[1], second)

    def forward(self, batch: PairStates) -> Loss:
        total = torch.zeros((), device=batch.space.device)
        size, sums = 0, {}
        labels, read = pivot_masks(batch), self.read_pair(batch)
        for number, (view, mask, gold) in enumerate(zip(read, batch.masks, labels, strict=True)):
            where = mask.nonzero(as_tuple=True)  # once: a GPU is waited for
            states, wanted = view[where], gold[where]
            extractor = self.sides[number]
            total = total + extractor.loss(states, wanted)
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


def check_encoder(name: str) -> None:
    """Check `--extract-encoder`.

    Raises:
        UserError: for an unknown name.
    """
    if name not in ENCODERS:
        raise unknown_name("`--extract-encoder`", name, ENCODERS)


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
