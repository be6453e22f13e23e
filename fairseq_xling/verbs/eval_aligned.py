"""How close aligned words are: their squared distance, next to that of words at random.

  fairseq-xling eval aligned tokens/de tokens/en --alignments en-de.pharaoh --swap
  fairseq-xling eval aligned tokens/de tokens/en --alignments en-de.pharaoh --swap --map de-en.map

X and Y are folders of `fairseq-xling extract --unit tokens` of a parallel text that nothing was
fitted on, of any encoders. Prints a row for each layer.
"""

import argparse

from fairseq_xling.named_files import FILE
from fairseq_xling.seeds import SEED

GROUP = "Analyse"
SPEC_ROWS = ("T23",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.mapping.pairs.alignments import AlignmentOptions
    from fairseq_xling.options import add_fields
    from fairseq_xling.verbs.parts import comparison

    comparison.add_arguments(parser)
    add = parser.add_argument
    add(
        "--alignments",
        required=True,
        metavar=FILE,
        help="links i-j of each line, as `fairseq-xling align` writes them",
    )
    add_fields(parser, AlignmentOptions)
    add("--map", metavar=FILE, help="map of X into the space of Y (`fairseq-xling map`)")
    add("--seed", type=SEED, default=0, help="seed of the words at random")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.comparisons.aligned import compare
    from fairseq_xling.verbs.parts.comparison import run_comparison

    run_comparison(args, compare)
