"""Check that a data folder is still as it was prepared.

  fairseq-xling check data

Reads every file in full: each must have the digest that `meta.json` records, sentences must end in
</s> and have ids of their dictionary, word alignments must lie in their sentences, and the models
that cut text must fit the dictionaries. Prints a line for each file that does not, and exits with
status 1 if there is one. A training checks the same of what it reads, but digests only by a sample.
Folders of earlier versions have digests of their dictionaries alone.
"""

import argparse

from fairseq_xling.named_files import Input

GROUP = "Data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar=Input("FOLDER"), help="data folder, written by `prepare`")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.errors import UserError
    from fairseq_xling.text.check import check_folder

    count, digests, damaged = check_folder(args.folder)
    for line in damaged:
        print(line)
    if damaged:
        many = "is 1 problem" if len(damaged) == 1 else f"are {len(damaged)} problems"
        raise UserError(f"{args.folder}: there {many}; prepare the folder again")
    print(f"{args.folder}: {count} checks, all passed")
    if not digests:
        print("no digests of its text, as of earlier versions; `prepare --overwrite` adds them")
