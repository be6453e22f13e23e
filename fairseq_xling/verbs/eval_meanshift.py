"""Vector translation: does adding two languages' mean difference retrieve a sentence's translation?

  fairseq-xling eval meanshift states/en states/de --held-out 0.5 --seed 0

X and Y are folders of `fairseq-xling extract --unit sentences`, of any encoders of one width; line
n of one text translates line n of the other. The mean difference is that of the sentences that are
not held out. Prints accuracy before and after adding it, for each layer.
"""

import argparse

from fairseq_xling.ranges import Number, Range
from fairseq_xling.seeds import SEED

GROUP = "Analyse"
SPEC_ROWS = ("S15",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts import comparison

    comparison.add_arguments(parser)
    add = parser.add_argument
    add(
        "--held-out",
        type=Number(float, Range(0, 1, above=True, below=True)),
        default=0.5,
        metavar="SHARE",
        help="share of the pairs to test on",
    )
    add("--seed", type=SEED, default=0, help="seed of the split")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.comparisons.meanshift import compare
    from fairseq_xling.verbs.parts.comparison import run_comparison

    run_comparison(args, compare)
