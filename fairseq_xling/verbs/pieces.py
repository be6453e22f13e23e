"""Write text as the pieces of a data folder's vocabulary, for programs that count words.

  fairseq-xling pieces DATA --language de --output de.txt
  fairseq-xling pieces DATA --language de --input more.de | lmplz -o 4 --skip_symbols > de.arpa

A line for each sentence, its pieces between spaces, `<unk>` where the vocabulary has none. An
n-gram model of such text is what `--ngram` of `fairseq-xling translate` reads.
"""

import argparse

from fairseq_xling.named_files import DATA, FILE, NEW_FILE

GROUP = "Data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar=DATA, help="data folder")
    add("--language", required=True, metavar="LANG", help="language of the text")
    add(
        "--split",
        default="train",
        metavar="SPLIT",
        help="text of the folder to write: monolingual, or else its side of sentence pairs",
    )
    add("--input", metavar=FILE, help="another UTF-8 text, also .gz, instead of the folder's")
    add("--output", metavar=NEW_FILE, help="file to write (default: standard output)")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.pieces import write_pieces

    write_pieces(args)
