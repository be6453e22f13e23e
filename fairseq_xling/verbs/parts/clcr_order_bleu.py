"""Order BLEU: how much of the gold order a predicted one preserves, by n-grams (CLCR, Table 3).

A sentence is the sequence of its key-points' numbers; the hypothesis lists them in the predicted,
the reference in the gold order. BLEU-n is reported by both definitions, without smoothing: the
precision of n-grams alone, as printed by sacrebleu, which is the headline, and the cumulative
score, the geometric mean of the precisions up to n with the brevity penalty. All are shares, not
percent.

Counts are pooled over a corpus. A sentence of fewer than n key-points has no n-gram.

B sentences, K key-points (padded at the end).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from fairseq_xling.analysis.sampled_bleu import Sample, score
from fairseq_xling.errors import UserError

ORDERS = (2, 3, 4)


@dataclass(frozen=True)
class OrderBleu:
    """By n: ``precisions`` and ``cumulative`` scores in [0, 1], NaN if there is no n-gram.

    Attributes:
        sentences: number of compared sentences.
        signature: sacrebleu's.
    """

    precisions: dict[int, float]
    cumulative: dict[int, float]
    brevity_penalty: float
    sentences: int
    signature: str


def order_bleu(predicted: Sequence[Sequence[int]], gold: Sequence[Sequence[int]]) -> OrderBleu:
    """Order BLEU of a corpus.

    Args:
        predicted: for each sentence the numbers of its key-points in the predicted order. They need
            not be those of ``gold``, where key-points were predicted too.
        gold: the same in the gold order.

    >>> found = order_bleu([[0, 1, 3, 2, 4]], [[0, 1, 2, 3, 4]])  # 0 1 is kept, of four
    >>> found.precisions[2], found.precisions[3]
    (0.25, 0.0)

    Raises:
        UserError: if there are not as many predicted sentences as gold ones.
    """
    if len(predicted) != len(gold):
        raise UserError(
            "order BLEU compares as many predicted as gold sentences, "
            f"got {len(predicted)} and {len(gold)}"
        )
    samples = [
        Sample(number, "", " ".join(map(str, right)), " ".join(map(str, ours)))
        for number, (ours, right) in enumerate(zip(predicted, gold, strict=True))
    ]
    found = score(samples or [Sample(0, "", "", "")], "none")
    longest = max(map(len, [*predicted, *gold]), default=0)
    return OrderBleu(
        {n: _share(found["precisions"][n - 1], n, longest) for n in ORDERS},
        {n: _share(found["cumulative"][n - 1], n, longest) for n in ORDERS},
        found["brevity_penalty"],
        len(samples),
        found["signature"],
    )


def ngrams_kept(
    ranks: Tensor, positions: Tensor, n: int, padding_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The number of n-grams of the predicted order that are in the gold one, and of all: (B,).

    For orders of the same key-points, on tensors: a number occurs once, so n neighbours are in the
    gold order if their gold positions are consecutive. The ratio of their sums over a corpus is
    `order_bleu`'s precision; its brevity penalty is 1.

    Args:
        ranks: (B, K), the predicted position of each key-point.
        positions: (B, K), the gold one, 0 .. n - 1.
        padding_mask: (B, K), True at padding.

    >>> import torch
    >>> kept, count = ngrams_kept(torch.tensor([[0, 1, 3, 2, 4]]), torch.arange(5)[None], 2)
    >>> kept.tolist(), count.tolist()
    ([1], [4])
    """
    if padding_mask is not None:
        # Padding ends n-grams, whatever its numbers are.
        ranks = ranks.masked_fill(padding_mask, ranks.shape[1])
        positions = positions.masked_fill(padding_mask, -1)
    order = positions.gather(1, ranks.argsort(dim=1, stable=True))
    windows = order.unfold(1, n, 1) if order.shape[1] >= n else order.new_zeros(len(order), 0, n)
    real = (windows >= 0).all(2)
    follows = (windows[..., 1:] - windows[..., :-1] == 1).all(2)
    return (follows & real).sum(1), real.sum(1)


class OrderCounts:
    """Order BLEU of orders of the same key-points, as shares, accumulated over batches.

    >>> import torch
    >>> counts = OrderCounts()
    >>> counts.add(torch.tensor([[0, 1, 3, 2, 4]]), torch.arange(5)[None])
    >>> counts.precision(2), counts.precision(3), round(counts.cumulative(2), 6)
    (0.25, 0.0, 0.5)
    """

    def __init__(self) -> None:
        self.kept, self.count = dict.fromkeys(ORDERS, 0), dict.fromkeys(ORDERS, 0)

    def add(self, ranks: Tensor, positions: Tensor, padding_mask: Tensor | None = None) -> None:
        """Add a batch; arguments as of `ngrams_kept`."""
        for n in ORDERS:
            kept, count = ngrams_kept(ranks, positions, n, padding_mask)
            self.kept[n] += int(kept.sum())
            self.count[n] += int(count.sum())

    def precision(self, n: int) -> float:
        """The share of the predicted n-grams that is gold, NaN if there is none."""
        return self.kept[n] / self.count[n] if self.count[n] else float("nan")

    def cumulative(self, n: int) -> float:
        """The geometric mean of the precisions up to n; that of 1-grams is 1."""
        return math.prod(self.precision(k) for k in ORDERS if k <= n) ** (1 / n)


def _share(percent: float, n: int, longest: int) -> float:
    return percent / 100 if longest >= n else float("nan")
