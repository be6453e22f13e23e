"""Measure how well key-points are ordered: order BLEU of each trained head and search.

  fairseq-xling clcr order order/checkpoint_last.pt --labels labels --split valid
  fairseq-xling clcr order model.pt --labels labels --split test --searches beam:50,hungarian

Key-points are the pivots of LABELS (`fairseq-xling clcr label`); the gold order is that of their
partners. All order heads of the checkpoint are measured (`--order rel` and `abs`, and `--order-side
first` and `second` of fairseq-train), each with the searches that it supports, next to the order of
the source.
"""

import argparse
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.commands import add_batches, add_labelled, add_table, finish_measure

GROUP = "CLCR"
SPEC_ROWS = ("C11", "C12", "C13")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_labelled(parser, " --clcr-module order")
    add("--searches", default="beam:1,beam:10,hungarian,local", metavar="NAMES",
        help="searches for an order from a head's scores; :N is the beam width, and :N:COST "
        "the cost of a pair in the wrong order or, for abs, of a position: probability or "
        "likelihood (the default); for rel also sign, the paper's")  # fmt: skip
    add_batches(parser)
    add_table(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.evaluation import HEADER, evaluate_orders, plan_orders
    from fairseq_xling.papers.clcr.labels import META, Labels
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.verbs.parts.comparison import check_output

    check_output(args)
    searches = parse_searches(args.searches)

    model = Clcr.load(args.checkpoint, args.data, args.device)
    sides = model.folder.parallel(args.split, *model.pair)
    labels = Labels(Path(args.labels, args.split))
    order = labels.order(sides, model.pair)
    measured = plan_orders(model, searches)
    sentences, points = evaluate_orders(model, sides, order, measured, args.max_tokens)
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
    record = {
        "clcr": "order",
        "title": f"Order BLEU, {'-'.join(model.pair)}",
        "pair": "-".join(model.pair),
        "split": args.split,
        "sentences": sentences,
        "key_points": points,
        "header": HEADER,
        "rows": rows,
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    finish_measure(args, record, files)


def parse_searches(text: str) -> list[tuple[str, int, str]]:
    """Names with the beam width and the cost of disagreements (default: 0 and '').

    >>> parse_searches("beam:1, local, beam:10:sign")
    [('beam', 1, ''), ('local', 0, ''), ('beam', 10, 'sign')]
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
