"""The verb ``clcr order``: order BLEU of each trained order head and search (CLCR, Table 3).

Key-points are pseudo-gold pivots, as in training, or gold ones, and the gold order is that of their
partners in the other language. So a head is measured on its own, independently of the extraction.

B sentence pairs, K key-points, E width.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.clcr.labelled import labelled_batches
from fairseq_xling.clcr.labels import META, Labels
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.modules.order import OrderModule, key_points_of
from fairseq_xling.models.clcr.order import order_heads
from fairseq_xling.progress import progress
from fairseq_xling.registry import unknown_name
from fairseq_xling.verbs.parts.clcr_order_bleu import ORDERS, OrderCounts
from fairseq_xling.verbs.parts.comparison import check_output, finish

WIDTH = 10  # of a beam whose width is not given
HEADER = [
    *("order", "search", "pairs right"),
    *(f"BLEU-{n}" for n in ORDERS),
    *(f"cumulative {n}" for n in ORDERS),
    "sentences/s",
]


@dataclass
class Measured:
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
        started = _now(states)
        if self.head is None:
            ranks = torch.arange(positions.shape[1]).expand_as(positions)
        else:
            scores = self.head(states, padding)
            how = {"search": self.search, "width": self.width or WIDTH, "weigh": self.weigh}
            ranks = self.head.find(scores, padding, **how).ranks
        self.seconds += _now(ranks) - started
        if self.head is not None:
            right, decisions = self.head.correct(scores, positions, padding)
            self.right += int(right)
            self.decisions += int(decisions)
        self.counts.add(ranks.to(positions), positions, padding)

    def row(self, sentences: int) -> list[Any]:
        """The row under `HEADER`."""
        return [
            f"{self.order} {self.direction}".strip(),
            " ".join(map(str, filter(None, (self.search, self.width, self.weigh)))),
            self.right / self.decisions if self.decisions else None,
            *(_or_none(self.counts.precision(n)) for n in ORDERS),
            *(_or_none(self.counts.cumulative(n)) for n in ORDERS),
            round(sentences / self.seconds) if self.head is not None and self.seconds else None,
        ]


def run_order(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_order`.

    Raises:
        UserError: for missing or inconsistent files, heads that were not trained, and searches
            that none of them supports.
    """
    check_output(args)
    searches = parse_searches(args.searches)
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    sides = model.folder.parallel(args.split, *model.pair)
    labels = Labels(Path(args.labels, args.split))
    order = labels.order(sides, model.pair)
    measured = plan(model, searches)
    sentences, points = evaluate(model, sides, order, measured, args.max_tokens)
    if not sentences:
        raise UserError(
            f"{labels.path}: no sentence has two pivots to order; label with a higher threshold"
        )
    rows = [one.row(sentences) for one in measured]
    notes = [
        f"{sentences:,} sentences of {args.split} with {points:,} key-points, of "
        f"{len(order):,}; the others have fewer than two",
        f"key-points are the {labels.kind} of {labels.path}",
        "pairs right: individual decisions of the classifier, for abs its positions; BLEU-n: "
        "precision of n-grams; cumulative: geometric mean up to n",
    ]
    if back := next((one.direction for one in measured if one.side), ""):
        notes.append(f"{back}: key-points of {model.pair[1]} put into the order of {model.pair[0]}")
    title = f"Order BLEU, {'-'.join(model.pair)}"
    record = {
        "clcr": "order",
        "title": title,
        "pair": "-".join(model.pair),
        "split": args.split,
        "sentences": sentences,
        "key_points": points,
        "header": HEADER,
        "rows": rows,
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    finish(args, title, HEADER, rows, notes, record, files, None)


def plan(model: Any, searches: Sequence[tuple[str, int, str]]) -> list[Measured]:
    """For each direction with a trained head, a row for the source's order, and one for each head
    and search that it supports.

    Raises:
        UserError: if no order head was trained, or for an unknown search or cost.

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
        found.append(Measured("as in the source", "", 0, "", None, side, direction))
        heads = {module.name: module.head for module in modules if module.side == side}
        for order, head in sorted(heads.items()):
            for name, width, weigh in searches:
                if name in head.searches and (not weigh or weigh in head.weights):
                    found.append(Measured(order, name, width, weigh, head, side, direction))
    return found


@torch.no_grad()
def evaluate(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    order: TokenFile,
    measured: Sequence[Measured],
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


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def parse_searches(text: str) -> list[tuple[str, int, str]]:
    """Names with the beam width and the cost of disagreements (default: 0 and '').

    >>> parse_searches("beam:1, local, beam:10:sign")
    [('beam', 1, ''), ('local', 0, ''), ('beam', 10, 'sign')]

    Raises:
        UserError: for a width that is no number above 0, and where nothing is named.
    """
    found = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, rest = piece.partition(":")
        width, _, weigh = rest.partition(":")
        if colon and not (width.isdecimal() and int(width)):
            raise UserError(f"`--searches` must have a width of at least 1, got {piece!r}")
        found.append((name, int(width) if colon else 0, weigh))
    if not found:
        raise UserError("`--searches` must name one, got none")
    return found
