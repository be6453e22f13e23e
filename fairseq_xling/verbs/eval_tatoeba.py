"""Sentence retrieval between two folders of sentences: P@1 by layer, in both directions.

  fairseq-xling eval tatoeba states/en states/de --output tatoeba.json --figure tatoeba.svg

X and Y are folders of `fairseq-xling extract --unit sentences`, of any encoders; line n of one text
translates line n of the other. Prints a row for each layer.
"""

import argparse

GROUP = "Analyse"
SPEC_ROWS = ("S7",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts import comparison

    comparison.add_arguments(parser)
    comparison.add_search(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.comparisons.tatoeba import compare
    from fairseq_xling.verbs.parts.comparison import run_comparison

    run_comparison(args, compare)
