"""The verb ``clcr evaluate``: tables of key-points and of orders."""

import argparse
from pathlib import Path

from fairseq_xling.clcr.evaluate import ORDER_HEADER, Evaluation, evaluate
from fairseq_xling.clcr.keypoints import HEADER
from fairseq_xling.clcr.labels import Labels
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.runs.provenance import provenance
from fairseq_xling.runs.tables import text_table

FORMAT = 1


def run_evaluate(args: argparse.Namespace) -> None:
    """See `fairseq_xling.cli.clcr_evaluate`.

    Raises:
        UserError: for files that are missing, or a model without the modules.
    """
    deltas = [_delta(text) for text in args.delta.split(",") if text.strip()]
    beams = [_beam(text) for text in args.beam.split(",") if text.strip()]
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    labels = Labels(Path(args.labels, args.split))
    sides = model.folder.parallel(args.split, *model.pair)
    heads = [key.removeprefix("order_") for key in model.parts if key.startswith("order_")]
    if "extract" not in model.parts:
        deltas = []
    if not (deltas or heads):
        raise UserError(f"{args.checkpoint}: has no module to evaluate; train extract or order")
    searches = [(head, "beam", beam) for head in heads for beam in beams]
    found = Evaluation(model, deltas, searches)
    evaluate(model, sides, labels, found, args.max_tokens)
    points, orders = found.point_rows(), found.order_rows()
    if points:
        print(f"Key-points of {args.split} against pseudo-gold pivots\n")
        print(text_table(HEADER, points) + "\n")
    if heads:
        print("Order of pseudo-gold key-points: n-gram precision, and pairs in the right order\n")
        print(text_table(ORDER_HEADER, orders))
    if args.output:
        files = {"checkpoint": args.checkpoint, "labels": labels.path / "meta.json"}
        record = {
            "format": FORMAT,
            "split": args.split,
            "key-points": [dict(zip(HEADER, row, strict=True)) for row in points],
            "orders": [dict(zip(ORDER_HEADER, row, strict=True)) for row in orders],
            "provenance": provenance(files),
        }
        write_json(args.output, record)
        print(f"written to {args.output}")


def _delta(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UserError(f"`--delta` must be numbers in [0, 1], got {text!r}")
    return value


def _beam(text: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise UserError(f"`--beam` must be whole numbers of at least 1, got {text!r}")
    return int(text)
