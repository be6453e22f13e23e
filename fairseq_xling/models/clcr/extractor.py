"""Which tokens are pivots: a classifier per token, its threshold, and training on noisy labels.

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

D width, T tokens.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
    """Log-odds of a pivot, (..., D) to (...), float32.

    Args:
        dim: D.
        hidden: width of one hidden layer; 0 is a linear classifier.
    """

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

    def forward(self, states: Tensor) -> Tensor:
        """Log-odds that each state (..., D) is a pivot's."""
        return self.scorer(states)

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
        if self.training and not self.known:
            self._follow(noisy)
        weights = confident_weights(labels, noisy, self.rates)
        plain = F.binary_cross_entropy_with_logits(logits, gold, reduction="sum")
        return (weights * each).sum() + plain

    def _follow(self, noisy: Tensor) -> None:
        """Move the rates towards those of a batch, or of all workers' batches."""
        found = estimated_rates(noisy) if len(noisy) else self.rates.new_zeros(2)
        sums = torch.cat([found, found.new_full((1,), float(len(noisy) > 0))])
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(sums)
        moved = self.rates.lerp(sums[:2] / sums[2], 1 - MEMORY)
        self.rates.copy_(torch.where(sums[2] > 0, moved, self.rates))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Extractor":
        super()._apply(fn, recurse)
        if "rates" in self._buffers:
            # Half precision cannot represent steps of a hundredth of the difference.
            self.rates = self.rates.float()
        return self
