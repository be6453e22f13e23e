"""Linear CKA between two folders: how similarly two encoders represent the same examples, by layer.

  fairseq-xling eval cka states/en states/de --output cka.json --figure cka.svg
  fairseq-xling eval cka states/en states/de --all-layers --figure layers.png

X and Y are folders of `fairseq-xling extract`, of any encoders and widths; row n of both is the
same example, usually a sentence and its translation. Memory does not grow with the number of rows.
"""

import argparse

GROUP = "Analyse"
SPEC_ROWS = ("S8",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts import comparison

    comparison.add_arguments(parser)
    parser.add_argument(
        "--all-layers",
        action="store_true",
        help="every layer of X (rows) with every layer of Y (columns); the figure is a heat map",
    )
    parser.add_argument(
        "--cca",
        action="store_true",
        help="also SVCCA (99 %% of the variance) and PWCCA (weighted by X), by layer",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.comparisons.cka import compare
    from fairseq_xling.verbs.parts.comparison import run_comparison

    run_comparison(args, compare)
