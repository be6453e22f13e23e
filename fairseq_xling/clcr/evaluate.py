"""How well key-points and their order are found, against pseudo-gold pivots (SPEC C10, C13).

Key-points are counted over all words of either language. Orders are judged on the pseudo-gold
key-points of the first language, so that R's mistakes are not mixed with E's, by n-gram precision
(order BLEU) and by the searches that are asked for; ``source`` is the order that the first language
has, and what a method must beat.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from fairseq_xling.clcr.keypoints import COUNTS, confusion, table_row
from fairseq_xling.clcr.label import blocks_of_text
from fairseq_xling.clcr.labels import Labels
from fairseq_xling.clcr.modules import PairStates
from fairseq_xling.clcr.modules.extract import partner_of_source, pivot_masks
from fairseq_xling.clcr.modules.order import key_points
from fairseq_xling.clcr.order_bleu import ORDERS, ngrams_kept
from fairseq_xling.data.batch import pad_rows
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sources import frame_order
from fairseq_xling.text.progress import progress

ORDER_HEADER = ("order", "search", *(f"BLEU-{n}" for n in ORDERS), "pairs right", "key-points")
SOURCE = "source"


class Evaluation:
    """Sums over batches, and the tables that they make.

    Args:
        model: a `fairseq_xling.interop.clcr.Clcr`.
        deltas: thresholds of p(key-point).
        searches: (name of an order head, search, beam) of each row, `SOURCE` aside.
    """

    def __init__(
        self, model: Any, deltas: Sequence[float], searches: Sequence[tuple[str, str, int]]
    ):
        self.model, self.deltas, self.searches = model, list(deltas), list(searches)
        self.points = {
            (lang, delta): dict.fromkeys(COUNTS, 0) for lang in model.pair for delta in self.deltas
        }
        names = [(SOURCE, "", 0), *self.searches]
        self.orders = {name: np.zeros((2, len(ORDERS) + 1), dtype=np.int64) for name in names}
        self.key_points = 0

    def add(self, batch: PairStates) -> None:
        """Count one batch."""
        if self.deltas:
            self._add_points(batch)
        states, positions, padding = key_points(batch.space, partner_of_source(batch))
        several = (~padding).sum(1) > 1
        if not bool(several.any()):
            return
        states, positions, padding = states[several], positions[several], padding[several]
        self.key_points += int((~padding).sum())
        own = torch.arange(positions.shape[1], device=positions.device).expand_as(positions)
        self._add_order((SOURCE, "", 0), own, positions, padding)
        for name, search, beam in self.searches:
            head = self.model.parts[f"order_{name}"].head
            found = head.find(head(states, padding), padding, search=search, width=beam)
            self._add_order((name, search, beam), found.ranks, positions, padding)

    def _add_points(self, batch: PairStates) -> None:
        module = self.model.parts["extract"]
        views, labels = (batch.space, batch.states[1]), pivot_masks(batch)
        for side, lang in enumerate(self.model.pair):
            mask = batch.masks[side]
            found = module.sides[side].probability(views[side][mask])
            for delta in self.deltas:
                for name, count in confusion(found > delta, labels[side][mask]).items():
                    self.points[lang, delta][name] += int(count)

    def _add_order(self, name: Any, ranks: Any, positions: Any, padding: Any) -> None:
        for column, n in enumerate(ORDERS):
            kept, count = ngrams_kept(ranks, positions, n, padding)
            self.orders[name][0, column] += int(kept.sum())
            self.orders[name][1, column] += int(count.sum())
        real = (~padding[:, :, None] & ~padding[:, None]).triu(1)
        same = (ranks[:, :, None] < ranks[:, None]) == (positions[:, :, None] < positions[:, None])
        self.orders[name][0, -1] += int((same & real).sum())
        self.orders[name][1, -1] += int(real.sum())

    def point_rows(self) -> list[Sequence[object]]:
        """Lines under `keypoints.HEADER`."""
        return [table_row(*key, counts) for key, counts in self.points.items()]

    def order_rows(self) -> list[Sequence[object]]:
        """Lines under `ORDER_HEADER`; shares in [0, 1], NaN where nothing is long enough."""
        rows = []
        for (name, search, beam), (kept, count) in self.orders.items():
            words = f"{search} {beam}" if search == "beam" else search
            shares = [float(k / c) if c else float("nan") for k, c in zip(kept, count, strict=True)]
            rows.append([name, words, *shares, self.key_points])
        return rows


@torch.no_grad()
def evaluate(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    labels: Labels,
    evaluation: Evaluation,
    max_tokens: int,
) -> None:
    """Put all pairs of a split into ``evaluation``."""
    order = labels.order(sides, model.pair)
    with progress(len(sides[0]), "evaluate", "pairs", checks=True) as bar:
        for start, texts in blocks_of_text(sides, 0):
            for batch in _batches(model, texts, order, start, max_tokens):
                evaluation.add(batch)
            bar.update(len(texts[0]))


def _batches(
    model: Any, texts: Any, order: TokenFile, start: int, max_tokens: int
) -> Iterator[PairStates]:
    for indices, states, masks in model.pairs(*texts, max_tokens):
        lengths = [[min(len(text[i]) + 1, model.positions) for i in indices] for text in texts]
        rows = [
            frame_order(order[start + int(i)], m, n)
            for i, m, n in zip(indices, *lengths, strict=True)
        ]
        partner = pad_rows(rows, -1).to(masks[1].device).masked_fill(~masks[1], -1)
        yield PairStates(states, masks, partner, model.transform(0, states[0]))
