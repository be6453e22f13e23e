"""Relate zero-shot NER F1 to the share of subwords common to training and test entities.

  fairseq-xling eval overlap runs/ner --output runs/ner-overlap

RUN is the folder of a `fairseq-xling eval transfer` or `eval matrix` with a head of BIO spans. Its
files and data folders are read again, so run this in the same directory. Writes a scatter plot,
overlap.csv, a report and results.json; prints the table and the correlations.
"""

import argparse

from fairseq_xling.named_files import NEW_FOLDER, RUN

GROUP = "Transfer"
SPEC_ROWS = ("E9",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", nargs="+", metavar=RUN, help="folder of a finished run with --head ner")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder for plot, tables and report")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.transfer.properties import run_overlap

    print(run_overlap(args))
