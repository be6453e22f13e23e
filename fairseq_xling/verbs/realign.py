"""Realign entities of characters to the words of a segmenter.

  fairseq-xling realign zh.train.bio --words zh.train.words --output zh.train.tsv

Reads a character and its BIO tag on each line, a blank line after each sentence, and the output of
a segmenter, a sentence per line with spaces between words, which must spell the same text. A word
belongs to the entity that covers at least half of its characters, of two to the first (Conneau et
al. 2020, section 3.2). Writes a word and its tag on each line, and prints how many entities kept
their boundaries.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE, NEW_FILE
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Transfer"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument("tagged characters, also .gz", FILE)
    words: str = option(REQUIRED, "the segmenter's output, also .gz", metavar=FILE)
    columns: str = option("", "of the tagged file, such as token=0,tag=1", metavar="COLUMNS")
    output: str = shared.output("tagged words to write", NEW_FILE)


def run(options: Options) -> None:
    from pathlib import Path

    from fairseq_xling.tasks.items import parse_columns
    from fairseq_xling.tasks.spans import realign_file

    columns = parse_columns(options.columns)
    done = realign_file(Path(options.source), Path(options.words), Path(options.output), columns)
    total = done.kept + done.moved + done.lost
    print(
        f"{options.output}: {total:,} entities in {done.sentences:,} sentences: {done.kept:,} kept "
        f"their boundaries, {done.moved:,} moved, {done.lost:,} lost"
    )
