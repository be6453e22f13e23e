"""Realign entities of characters to the words of a segmenter.

  fairseq-xling realign zh.train.bio --words zh.train.words --output zh.train.tsv

Reads a character and its BIO tag on each line, a blank line after each sentence, and the output of
a segmenter, a sentence per line with spaces between words, which must spell the same text. A word
belongs to the entity that covers at least half of its characters, of two to the first (Conneau et
al. 2020, section 3.2). Writes a word and its tag on each line, and prints how many entities kept
their boundaries.
"""

import argparse

from fairseq_xling.named_files import FILE, NEW_FILE

GROUP = "Transfer"
SPEC_ROWS = ("E3",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar=FILE, help="tagged characters, also .gz")
    add("--words", required=True, metavar=FILE, help="the segmenter's output, also .gz")
    add("--columns", default="", help="of the tagged file, such as token=0,tag=1")
    add("--output", required=True, metavar=NEW_FILE, help="tagged words to write")


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from fairseq_xling.tasks.items import parse_columns
    from fairseq_xling.tasks.spans import realign_file

    columns = parse_columns(args.columns)
    done = realign_file(Path(args.source), Path(args.words), Path(args.output), columns)
    total = done.kept + done.moved + done.lost
    print(
        f"{args.output}: {total:,} entities in {done.sentences:,} sentences: {done.kept:,} kept "
        f"their boundaries, {done.moved:,} moved, {done.lost:,} lost"
    )
