"""Plot the distance of translations by step for several trainings: annealed, not annealed, linear.

  fairseq-xling clcr curves annealed=a1/train.log annealed=a2/train.log \\
      "no annealing=n1/train.log" linear=l1/train.log --output curves.json --figure curves.svg

Logs are those of `fairseq-train --task clcr --clcr-module transform --log-format json`, of which
the validations are read. Trainings with the same name are seeds. The phases of one training are
logs separated by commas: annealed=transform.log,lm1.log,lm2.log
"""

import argparse

from fairseq_xling.named_files import Input

GROUP = "CLCR"
SPEC_ROWS = ("C4", "C5")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add("trainings", nargs="+", metavar=Input("TRAINING"), help="NAME=LOG or NAME=LOG,LOG")
    add("--tag", default="valid", help="which log records to read: valid, train or train_inner")
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_curves import run_curves

    run_curves(args)
