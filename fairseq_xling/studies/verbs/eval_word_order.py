"""Relate zero-shot scores to the word-order features that two languages share.

  fairseq-xling eval word-order runs/pos --features wals.tsv --output runs/pos-word-order

RUN is the folder of a `fairseq-xling eval transfer` or `eval matrix` of any head. You supply the
features, for example from the World Atlas of Language Structures: a header with `language` and the
features' names, then a tab-separated row per language; an empty cell is unknown. Writes a
scatter plot, word_order.csv, a report and results.json; prints the table and the correlations.
"""

import argparse

from fairseq_xling.named_files import NEW_FOLDER, RUN, Input

GROUP = "Transfer"
SPEC_ROWS = ("E10",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", nargs="+", metavar=RUN, help="folder of a finished run")
    add("--features", required=True, metavar=Input("TSV"), help="features by language")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder for plot, table and report")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.transfer.properties import run_word_order

    print(run_word_order(args))
