"""Show one sentence pair: p(key-point) of each word, and what the order heads say of its pivots.

  fairseq-xling clcr show model.pt --labels labels --split valid --sentence 3 --figure sentence.svg

Words of both languages have p(key-point) by the plain and, where labels were reweighted, by the
confident classifier (the paper's Figure 2). For each trained order head there are two heat maps of
the key-points: the gold matrix, and the head's probabilities (Figure 3).
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, LABELS
from fairseq_xling.ranges import COUNT, Number

GROUP = "CLCR"
SPEC_ROWS = ("C8", "C11", "C12")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="of fairseq-train --task clcr, with extraction")
    add("--data", metavar=DATA, help="its data folder, if it has moved")
    add("--labels", required=True, metavar=LABELS, help="folder of `fairseq-xling clcr label`")
    add("--split", default="valid", help="of the data folder's parallel text")
    add(
        "--sentence",
        type=Number(int, COUNT),
        default=1,
        metavar="N",
        help="which sentence pair of the split, counted from 1",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_show import run_show

    run_show(args)
