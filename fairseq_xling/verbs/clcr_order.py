"""Measure how well key-points are ordered: order BLEU of each trained head and search.

  fairseq-xling clcr order order/checkpoint_last.pt --labels labels --split valid
  fairseq-xling clcr order model.pt --labels labels --split test --searches beam:50,hungarian

Key-points are the pivots of LABELS (`fairseq-xling clcr label`); the gold order is that of their
partners. All order heads of the checkpoint are measured (`--order rel` and `abs`, and `--order-side
first` and `second` of fairseq-train), each with the searches that it supports, next to the order of
the source.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, LABELS, NEW_RESULTS
from fairseq_xling.ranges import COUNT, Number

GROUP = "CLCR"
SPEC_ROWS = ("C11", "C12", "C13")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="of fairseq-train --task clcr --clcr-module order")
    add("--data", metavar=DATA, help="its data folder, if it has moved")
    add("--labels", required=True, metavar=LABELS, help="folder of `fairseq-xling clcr label`")
    add("--split", default="valid", help="of the data folder's parallel text")
    add("--searches", default="beam:1,beam:10,hungarian,local", metavar="NAMES",
        help="searches for an order from a head's scores; :N is the beam width, and :N:COST "
        "the cost of a pair in the wrong order or, for abs, of a position: probability or "
        "likelihood (the default); for rel also sign, the paper's")  # fmt: skip
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per side and batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add(
        "--output",
        metavar=NEW_RESULTS,
        help="file for the results; the table is written next to it as .csv",
    )
    parser.set_defaults(figure=None)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_order import run_order

    run_order(args)
