"""Correlate two measures over layers and language pairs, such as CKA and sentence retrieval.

  fairseq-xling eval correlate cka-de.json tatoeba-de.json cka-fr.json tatoeba-fr.json \\
      --output correlation.json --figure correlation.svg

RESULTS are files that `eval cka`, `eval tatoeba`, `eval bli` or `eval meanshift` wrote, two for
each pair of encoders. Prints Pearson's and Spearman's correlation over the layers of each pair, and
over all points.
"""

import argparse

from fairseq_xling.named_files import Input

GROUP = "Analyse"
SPEC_ROWS = ("S9",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add(
        "results",
        nargs="+",
        metavar=Input("RESULTS"),
        help="two per pair: its first and second measure",
    )
    add("--x", metavar="CURVE", help="column of each first file (default: its main one)")
    add("--y", metavar="CURVE", help="column of each second file (default: its main one)")
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.eval_correlate import run_correlation

    run_correlation(args)
