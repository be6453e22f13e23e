"""E, which tokens are key-points: a classifier per token, its threshold, and noisy labels.

CLCR, section 3.2. A token is kept if p(pivot) > delta; its vector then represents its block of the
finest common granularity. The labels are pseudo-gold pivots, so some are wrong.

"Confident labels" reweight them after Liu and Tao (2015), "Classification with Noisy Labels by
Importance Reweighting", section 4. Label y of token x has weight

    w(x, y) = (P(y | x) - rho_-y) / ((1 - rho_+ - rho_-) P(y | x))

where P is the probability of the *noisy* label, rho_+ that a pivot is not labelled as one, rho_-
that another token is labelled as a pivot, and rho_-y that the other class got the label y. A label
fully explained by noise has weight 0. The CLCR paper says only "similar to"; our choices:

- P is a second classifier next to the first, trained on all labels equally at the same time. No
  prior training is needed, and a token's weight follows the current estimate.
- If the rates are not given, they are estimated as by Liu and Tao: rho_-y is the minimum of P(y |
  x). We use a low quantile instead of the minimum, averaged over batches, because one odd token
  would decide the minimum; and at most 0.45, beyond which the formula is meaningless.
- A weight is never below 0.

How well key-points are found is measured by accuracy, precision and recall by language (CLCR, table
2): those of the class "key-point", as shares in [0, 1].

D width, T tokens.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine.devices import several_processes
from fairseq_xling.papers.clcr.encoder import LayerEncoder
from fairseq_xling.papers.clcr.modules import Loss, Module, PairStates, Sizes, modules
from fairseq_xling.papers.clcr.phases import ENCODERS, FINETUNE, FROZEN

MOST, QUANTILE, MEMORY = 0.45, 0.05, 0.99


def confident_weights(labels: Tensor, noisy: Tensor, rates: Tensor) -> Tensor:
    """w(x, y), float32, of the shape of ``labels``.

    Args:
        labels: True at pseudo-gold pivots.
        noisy: P(labelled as a pivot | x), of the same shape.
        rates: (2,), rho_+ and rho_-.

    >>> labels, noisy = torch.tensor([True, True, False]), torch.tensor([0.8, 0.2, 0.2])
    >>> confident_weights(labels, noisy, torch.tensor([0.2, 0.2])).tolist()
    [1.25, 0.0, 1.25]
    """
    own = torch.where(labels, noisy, 1 - noisy).float().clamp(min=1e-6)
    flipped = torch.where(labels, rates[1], rates[0])
    return ((own - flipped) / ((1 - rates.sum()) * own)).clamp(min=0.0)


def estimated_rates(noisy: Tensor) -> Tensor:
    """(2,) rho_+ and rho_- from P(labelled as a pivot | x) of many tokens (n,)."""
    noisy = noisy.float()
    shares = [noisy.new_full((1,), share) for share in (1 - QUANTILE, QUANTILE)]
    ends = torch.quantile(noisy, torch.cat(shares))
    return torch.stack([1 - ends[0], ends[1]]).clamp(max=MOST)


class Scorer(nn.Module):
    """Log-odds of a pivot, (..., D) to (...), float32, by one hidden layer of so many units; 0 is a
    linear classifier."""

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        layers = [nn.Linear(dim, hidden), nn.GELU()] if hidden else []
        self.layers = nn.Sequential(*layers, nn.Linear(hidden or dim, 1))

    def forward(self, states: Tensor) -> Tensor:
        return self.layers(states).squeeze(-1).float()


class Extractor(nn.Module):
    """The classifier of one language.

    Args:
        dim, hidden: as for `Scorer`.
        confident: whether labels are reweighted.
        rates: rho_+ and rho_-, or None to estimate them.
    """

    def __init__(
        self,
        dim: int,
        hidden: int = 0,
        confident: bool = False,
        rates: tuple[float, float] | None = None,
    ):
        super().__init__()
        self.scorer = Scorer(dim, hidden)
        self.known = rates is not None
        if confident:
            self.plain = Scorer(dim, hidden)
            self.register_buffer("rates", torch.tensor(rates or (MOST, MOST)))
            # Of this update's batches so far: the sums of their rates, and how many they are.
            self.register_buffer("seen", torch.zeros(3), persistent=False)

    def probability(self, states: Tensor) -> Tensor:
        """P(pivot) of each state (..., D)."""
        return self.scorer(states).sigmoid()

    def probabilities(self, states: Tensor) -> dict[str, Tensor]:
        """P(pivot) of each state (..., D): ``plain``, learnt from all labels equally, and, of an
        extractor with confident labels, ``confident``, which is `probability`."""
        if not hasattr(self, "plain"):
            return {"plain": self.probability(states)}
        return {"plain": self.plain(states).sigmoid(), "confident": self.probability(states)}

    def loss(self, states: Tensor, labels: Tensor) -> Tensor:
        """The summed loss in nats of states (n, D) with labels (n,) bool.

        With confident labels, the second classifier's loss is added; it shares no weight.
        """
        gold = labels.float()
        each = F.binary_cross_entropy_with_logits(self.scorer(states), gold, reduction="none")
        if not hasattr(self, "plain"):
            return each.sum()
        logits = self.plain(states)
        noisy = logits.detach().sigmoid()
        if self.training and not self.known and len(noisy):
            self.seen += F.pad(estimated_rates(noisy), (0, 1), value=1.0)
        weights = confident_weights(labels, noisy, self.rates)
        plain = F.binary_cross_entropy_with_logits(logits, gold, reduction="sum")
        return (weights * each).sum() + plain

    def end_update(self) -> None:
        """Move the rates towards the mean of those of the update's batches, in all processes."""
        if self.known or not hasattr(self, "plain"):
            return
        if several_processes():
            torch.distributed.all_reduce(self.seen)
        moved = self.rates.lerp(self.seen[:2] / self.seen[2], 1 - MEMORY)
        self.rates.copy_(torch.where(self.seen[2] > 0, moved, self.rates))
        self.seen.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Extractor":
        super()._apply(fn, recurse)
        if "rates" in self._buffers:
            # Half precision cannot represent steps of a hundredth of the difference.
            self.rates, self.seen = self.rates.float(), self.seen.float()
        return self


COUNTS = ("hit", "false", "missed", "right")  # true and false positives, false and true negatives
SHARES = ("accuracy", "precision", "recall", "majority")
DOUBTS = ("entropy", "ambiguous")


def confusion(kept: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Counts of tokens, by `COUNTS`, from what was kept and what should have been, (n,) bool."""
    return {
        "hit": (kept & labels).sum(),
        "false": (kept & ~labels).sum(),
        "missed": (~kept & labels).sum(),
        "right": (~kept & ~labels).sum(),
    }


def shares(counts: Mapping[str, float]) -> dict[str, float | None]:
    """Accuracy, precision and recall, and the accuracy of the majority class.

    None for a share of nothing.

    >>> shares({"hit": 6, "false": 2, "missed": 1, "right": 11})
    {'accuracy': 0.85, 'precision': 0.75, 'recall': 0.8571428571428571, 'majority': 0.65}
    """
    hit, false, missed, right = (float(counts[name]) for name in COUNTS)
    total = hit + false + missed + right
    majority = max(hit + missed, false + right)
    parts = ((hit + right, total), (hit, hit + false), (hit, hit + missed), (majority, total))
    return {name: _share(*part) for name, part in zip(SHARES, parts, strict=True)}


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def doubts(probabilities: Tensor) -> dict[str, Tensor]:
    """How ambiguous p(key-point) (n,) is, by `DOUBTS`: the sum of the binary entropies, in bits,
    and the number of words with .2 < p < .8, which are neither clear key-points nor clearly none.

    >>> found = doubts(torch.tensor([0.5, 0.9, 0.0]))
    >>> round(float(found["entropy"]), 4), int(found["ambiguous"])
    (1.469, 1)
    """
    p = probabilities.double()
    nats = torch.special.entr(p) + torch.special.entr(1 - p)
    return {"entropy": nats.sum() / math.log(2), "ambiguous": ((p > 0.2) & (p < 0.8)).sum()}


def measured(counts: Mapping[str, float], doubt: Mapping[str, float]) -> dict[str, float | None]:
    """The figures of words: `shares`, how many words were kept and how many there are, and the
    means of ``doubt``, which are sums of `doubts`."""
    numbers = {name: int(counts[name]) for name in COUNTS}
    total = sum(numbers.values())
    return {
        **shares(numbers),
        **{"key-points": numbers["hit"] + numbers["false"], "tokens": total},
        **{name: _share(float(doubt[name]), total) for name in DOUBTS},
    }


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
        hidden, confident, rates = (settings[x] for x in ("hidden", "confident", "rates"))
        copied = sizes.encoders if settings.get("encoder", FROZEN) == FINETUNE else ()
        self.encoders = nn.ModuleList(LayerEncoder(one) for one in copied)
        widths = sizes.widths if copied else (sizes.widths[1],) * 2
        self.sides = nn.ModuleList(
            Extractor(width, hidden, confident, tuple(rates) if rates else None) for width in widths
        )

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        if cfg.extract_encoder not in ENCODERS:
            raise unknown_name("`--extract-encoder`", cfg.extract_encoder, ENCODERS)
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

    def end_update(self) -> None:
        for extractor in self.sides:
            extractor.end_update()

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
    return partner_of_source(batch) >= 0, (batch.partner >= 0) & batch.masks[1]


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
