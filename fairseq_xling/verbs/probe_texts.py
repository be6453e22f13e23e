"""Write the texts of probing rows, each once, one per line, to be encoded as sequences.

  fairseq-xling probe texts pos.train.jsonl --output pos.train.txt

`fairseq-xling clcr probe` reads their sequences in this order.
"""

import argparse

from fairseq_xling.named_files import FILE, NEW_FILE

GROUP = "Analyse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar=FILE, help="rows of `fairseq-xling probe`, also .gz")
    add("--offsets", default="tokens", choices=["tokens", "characters"], help="unit of spans")
    add("--output", required=True, metavar=NEW_FILE, help="text to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.tasks.probing.examples import read_examples, write_texts

    lines = write_texts(read_examples(args.source, args.offsets), args.output)
    print(f"{args.output}: {lines:,} texts")
