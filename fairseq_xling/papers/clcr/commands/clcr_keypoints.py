"""Measure how well key-points are found: accuracy, precision and recall by language.

  fairseq-xling clcr keypoints extract/checkpoint_last.pt --labels labels --split valid

Words with p(key-point) > delta are kept as key-points and compared with the pseudo-gold pivots of
`fairseq-xling clcr label`. Figures are in [0, 1].
"""

import argparse
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.commands import add_batches, add_labelled, add_table, finish_measure

GROUP = "CLCR"
SPEC_ROWS = ("C10",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_labelled(parser, ", with extraction")
    add("--delta", default="0.2,0.5", metavar="P,P", help="thresholds of p(key-point)")
    add_batches(parser)
    add_table(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.evaluation import count_keypoints
    from fairseq_xling.papers.clcr.labels import META, Labels
    from fairseq_xling.papers.clcr.modules.extract import HEADER, table_row
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.verbs.parts.comparison import check_output

    check_output(args)
    deltas = parse_deltas(args.delta)

    model = Clcr.load(args.checkpoint, args.data, args.device)
    model.model.require("extract", model.checkpoint)
    labels = Labels(Path(args.labels, args.split))
    sides = model.folder.parallel(args.split, *model.pair)
    counts, doubt = count_keypoints(model, sides, labels, deltas, args.max_tokens)
    rows = [list(table_row(*key, found, doubt[key[0]])) for key, found in counts.items()]
    notes = [
        f"words of {args.split}, against the {labels.kind} of {labels.path}",
        "entropy: mean of p(key-point), in bits, 1 is chance; ambiguous: share of words with "
        ".2 < p < .8",
    ]
    record = {
        "clcr": "keypoints",
        "title": f"Key-points, {'-'.join(model.pair)}",
        "pair": "-".join(model.pair),
        "split": args.split,
        "header": list(HEADER),
        "rows": rows,
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    finish_measure(args, record, files)


def parse_deltas(text: str) -> list[float]:
    """Thresholds separated by commas.

    >>> parse_deltas("0.2, 0.5")
    [0.2, 0.5]
    """
    found = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            found.append(float(piece))
        except ValueError:
            found.append(-1.0)
    if not found or not all(0 <= delta <= 1 for delta in found):
        raise UserError(f"`--delta` must be numbers in [0, 1], got {text!r}")
    if len({*found}) < len(found):
        raise UserError(f"`--delta` must be different numbers, got {text!r}")
    return found
