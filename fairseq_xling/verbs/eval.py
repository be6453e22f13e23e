"""Measure checkpoints: retrieval by layer, word retrieval, bits per word, language mass.

  fairseq-xling eval checkpoints/checkpoint_best.pt --data data-bin
  fairseq-xling eval model.pt --data data-bin --measure words --dictionary en-de.tsv

Prints one table per measure; `--output` writes the same figures with their provenance as JSON.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, OutputFile

GROUP = "Analyse"
SPEC_ROWS = ("S16", "T17", "S13")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.measures import MEASURES

    parser.add_argument("checkpoint", nargs="+", metavar=CHECKPOINT, help="model file(s)")
    parser.add_argument("--data", required=True, metavar=DATA, help="the model's data folder")
    parser.add_argument(
        "--measure",
        default="retrieval,bpw",
        metavar="NAMES",
        help=f"what to measure, comma-separated: {', '.join(MEASURES)}",
    )
    parser.add_argument(
        "--source", metavar="LANG", help="language to compare with (default: the folder's first)"
    )
    parser.add_argument(
        "--targets", metavar="LANGS", help="languages to compare (default: all others)"
    )
    parser.add_argument("--output", metavar=OutputFile("JSON"), help="file for the results")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    for name in MEASURES:
        MEASURES[name]().add_arguments(parser.add_argument_group(f"measure {name}"))


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.eval import evaluate

    evaluate(args)
