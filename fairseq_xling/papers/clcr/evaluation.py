"""Trained modules measured on labelled pairs: key-points and their order.

Order BLEU: how much of the gold order a predicted one preserves, by n-grams (CLCR, Table 3).

A sentence is the sequence of its key-points' numbers; the hypothesis lists them in the predicted,
the reference in the gold order. BLEU-n is reported by both definitions, without smoothing: the
precision of n-grams alone, as printed by sacrebleu, which is the headline, and the cumulative
score, the geometric mean of the precisions up to n; the brevity penalty is 1, since both orders
have the same key-points. All are shares, not percent.

Counts are pooled over a corpus. A sentence of fewer than n key-points has no n-gram.

B sentences, K key-points (padded at the end).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.models.ordering import order_heads
from fairseq_xling.papers.clcr.modules.extract import COUNTS, DOUBTS, confusion, doubts, pivot_masks
from fairseq_xling.papers.clcr.modules.order import OrderModule, key_points_of
from fairseq_xling.papers.clcr.trained import labelled_batches

ORDERS = (2, 3, 4)
WIDTH = 10  # of a beam whose width is not given


@torch.no_grad()
def count_keypoints(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    order: TokenFile,
    deltas: Sequence[float],
    max_tokens: int,
) -> tuple[dict[tuple[str, float], dict[str, int]], dict[str, dict[str, float]]]:
    """The confusion matrices of all words of a split, by language and delta, and by language the
    sums of their `doubts`."""
    counts = {(lang, x): dict.fromkeys(COUNTS, 0) for lang in model.pair for x in deltas}
    doubt = {lang: dict.fromkeys(DOUBTS, 0.0) for lang in model.pair}
    module = model.parts["extract"]
    with progress(len(sides[0]), "key-points", "pairs", checks=True) as bar:
        for batch in labelled_batches(model, sides, order, max_tokens):
            both = zip(batch.masks, pivot_masks(batch), module.read_pair(batch), strict=True)
            for lang, extractor, (mask, gold, read) in zip(
                model.pair, module.sides, both, strict=True
            ):
                found = extractor.probability(read[mask])
                for name, value in doubts(found).items():
                    doubt[lang][name] += float(value)
                for delta in deltas:
                    for name, count in confusion(found > delta, gold[mask]).items():
                        counts[lang, delta][name] += int(count)
            bar.update(len(batch.masks[0]))
    return counts, doubt


def ngrams_kept(
    ranks: Tensor, positions: Tensor, n: int, padding_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The number of n-grams of the predicted order that are in the gold one, and of all: (B,).

    A number occurs once, so n neighbours are in the gold order if their gold positions are
    consecutive. The ratio of their sums over a corpus is the precision.

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

    def precision(self, n: int) -> float | None:
        """The share of the predicted n-grams that is gold, None if there is none."""
        return self.kept[n] / self.count[n] if self.count[n] else None

    def cumulative(self, n: int) -> float | None:
        """The geometric mean of the precisions up to n; that of 1-grams is 1."""
        shares = [self.precision(k) for k in ORDERS if k <= n]
        return None if None in shares else math.prod(shares) ** (1 / n)


@dataclass
class MeasuredOrder:
    """One row: a head and a search, with its results.

    Attributes:
        side: whose key-points are ordered, 0 or 1; direction: its name, if not from 0 to 1.
        right, decisions: individual decisions of the classifier, before any search.
        seconds: of head and search.
    """

    order: str
    search: str
    width: int
    weigh: str
    head: Any = None
    side: int = 0
    direction: str = ""
    counts: OrderCounts = field(default_factory=OrderCounts)
    right: int = 0
    decisions: int = 0
    seconds: float = 0.0

    def add(self, states: Tensor, positions: Tensor, padding: Tensor) -> None:
        """Order a batch of key-points (B, K, E) and count matches with the gold order (B, K)."""
        if self.head is None:
            ranks = torch.arange(positions.shape[1]).expand_as(positions)
        else:
            started = _now(states)
            scores = self.head(states, padding)
            how = {"search": self.search, "width": self.width or WIDTH, "weigh": self.weigh}
            ranks = self.head.find(scores, padding, **how).ranks
            self.seconds += _now(ranks) - started
            right, decisions = self.head.correct(scores, positions, padding)
            self.right += int(right)
            self.decisions += int(decisions)
        self.counts.add(ranks.to(positions), positions, padding)

    def rows(self, sentences: int) -> list[dict[str, Any]]:
        """A row for each figure; None where there is none."""
        order = f"{self.order} {self.direction}".strip()
        search = " ".join(map(str, filter(None, (self.search, self.width, self.weigh))))
        figures = {"pairs right": self.right / self.decisions if self.decisions else None}
        figures |= {f"BLEU-{n}": self.counts.precision(n) for n in ORDERS}
        figures |= {f"cumulative {n}": self.counts.cumulative(n) for n in ORDERS}
        figures["sentences/s"] = round(sentences / self.seconds) if self.seconds else None
        about = {"order": order, "search": search}
        return [{**about, "measure": name, "value": value} for name, value in figures.items()]


def plan_orders(model: Any, searches: Sequence[tuple[str, int, str]]) -> list[MeasuredOrder]:
    """For each direction with a trained head, a row for the source's order, and one for each head
    and search that it supports.

    A search of a kind of head that was not trained is skipped.
    """
    modules = [part for part in model.parts.values() if isinstance(part, OrderModule)]
    if not modules:
        raise UserError(
            f"{model.checkpoint}: has no trained order head; train one with `--clcr-module order`"
        )
    kinds = [order_heads[name] for name in order_heads]
    known = sorted({name for kind in kinds for name in kind.searches})
    weights = sorted({name for kind in kinds for name in kind.weights})
    for name, _, weigh in searches:
        if name not in known:
            raise unknown_name("search in `--searches`", name, known)
        if weigh and weigh not in weights:
            raise unknown_name("weight in `--searches`", weigh, weights)
    found = []
    for side in sorted({module.side for module in modules}):
        direction = "-".join(model.pair[::-1]) if side else ""
        found.append(MeasuredOrder("as in the source", "", 0, "", None, side, direction))
        heads = {module.name: module.head for module in modules if module.side == side}
        for order, head in sorted(heads.items()):
            for name, width, weigh in searches:
                if name in head.searches and (not weigh or weigh in head.weights):
                    found.append(MeasuredOrder(order, name, width, weigh, head, side, direction))
    return found


@torch.no_grad()
def evaluate_orders(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    order: TokenFile,
    measured: Sequence[MeasuredOrder],
    max_tokens: int,
) -> tuple[int, int]:
    """Fill the rows; returns the number of sentences with two or more key-points, and of these."""
    sentences = points = 0
    with progress(len(order), "order", "pairs", checks=True) as bar:
        for labelled in labelled_batches(model, sides, order, max_tokens):
            bar.update(len(labelled.masks[0]))
            batches = {}
            for side in {one.side for one in measured}:
                *arrays, padding = key_points_of(labelled, side)
                several = (~padding).sum(1) > 1  # the same ones on both sides
                batches[side] = [array[several] for array in (*arrays, padding)]
            if not bool(several.any()):
                continue
            sentences += int(several.sum())
            points += int((~batches[measured[0].side][2]).sum())
            for one in measured:
                one.add(*batches[one.side])
    return sentences, points


def _now(made: Tensor) -> float:
    """Seconds, once ``made`` is computed: a GPU works asynchronously."""
    if made.is_cuda:
        torch.cuda.synchronize(made.device)
    return time.perf_counter()
