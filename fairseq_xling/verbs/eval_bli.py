"""Bilingual lexicon induction between two folders of word vectors: P@1, P@5, P@10 and MRR.

  fairseq-xling eval bli states/en states/de --dictionary en-de.tsv --output bli.json
  fairseq-xling eval bli states/en states/de --dictionary en-de.0-5000.txt --map en-de.map

X and Y are folders of `fairseq-xling extract --unit types` or `--unit static`, of any encoders. The
dictionary has a source and a target word on each line, separated by a tab or a space, like MUSE's;
.gz is accepted. Prints a row for each layer.
"""

import argparse

from fairseq_xling.named_files import FILE

GROUP = "Analyse"
SPEC_ROWS = ("S4", "S5", "S16")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.comparisons.bli import CANDIDATES
    from fairseq_xling.verbs.parts import comparison

    comparison.add_arguments(parser)
    add = parser.add_argument
    add("--dictionary", required=True, metavar=FILE, help="words of X with translations in Y")
    comparison.add_search(parser)
    add(
        "--candidates",
        default="vocabulary",
        choices=list(CANDIDATES),
        help="candidate translations: all words of Y, or those of the dictionary alone",
    )
    add("--ignore-case", action="store_true", help="match entries regardless of case")
    add(
        "--skip-identical",
        action="store_true",
        help="leave out entries whose two words are identical",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.comparisons.bli import compare
    from fairseq_xling.verbs.parts.comparison import run_comparison

    run_comparison(args, compare)
