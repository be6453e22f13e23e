"""Report how close the sequences of translations are: D, random pairs, correlation with scores.

  fairseq-xling clcr report seq/test.en seq/test.de --output conditions.json --figure conditions.svg
  fairseq-xling clcr report seq/test.en seq/test.de --scored seq/sts.text seq/sts.pair \\
      --scores sts.tsv --score-column -1

X and Y are folders of sequences (`fairseq-xling clcr encode`) of sentences that translate each
other, line by line. Compares the distance of translations with that of random pairs, and, where
pairs with similarity scores are given, correlates distance and score.

With --checkpoint and --text, it also reports how far the vector of a word moves if the word is
replaced, if its context is, and if neither is: a vector is of its token in its context.

matched: D of the paper's equation 2, the mean of both directions, regardless of order; positions:
position by position, as a model reads them, up to the shorter length.
"""

import argparse

from fairseq_xling.named_files import DATA, FILE, LANG_FILE, MODEL, Input
from fairseq_xling.ranges import COUNT, NOT_NEGATIVE, Number, Range
from fairseq_xling.seeds import SEED

GROUP = "CLCR"
SPEC_ROWS = ("C1",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add("x", metavar=Input("X"), help="folder of sequences")
    add("y", metavar=Input("Y"), help="folder of sequences of their translations")
    add("--distance", default="matched,positions", metavar="NAMES", help="distances to compute")
    add("--norm", default="l2", help="of the difference of two vectors: l1 or l2")
    add("--tau", type=Number(float, NOT_NEGATIVE), default=0.0, metavar="X",
        help="temperature of matched's attention; 0 selects the best partner, 1 mixes")  # fmt: skip
    add(
        "--random",
        type=Number(int, Range(1, 1000)),
        default=1,
        metavar="N",
        help="random partners per sentence",
    )
    add("--seed", type=SEED, default=1, metavar="N", help="of the random partners")
    add("--scored", nargs=2, metavar=(Input("X"), Input("Y")), help="folders of the scored pairs")
    add("--scores", metavar=FILE, help="their scores, one line each, tab-separated columns")
    add("--score-column", default="-1", metavar="COLUMN",
        help="column of the score: a number from 0, or from the end, or a heading")  # fmt: skip
    add("--checkpoint", metavar=MODEL, help="model whose vectors in context are measured")
    add("--text", action="append", default=[], metavar=LANG_FILE,
        help="text to measure them on; repeatable")  # fmt: skip
    add("--data", metavar=DATA, help="the model's data folder, if it has moved")
    add("--sentences", type=Number(int, COUNT), default=1000, metavar="N",
        help="lines of each such text to read, a word of each is replaced")  # fmt: skip
    add("--device", default="cpu", help="of the model: cpu, cuda or cuda:N")
    add(
        "--batch-size",
        type=Number(int, COUNT),
        default=256,
        metavar="N",
        help="pairs compared at a time",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_report import run_clcr_report

    run_clcr_report(args)
