"""Run all of CLCR with one command, from two pretrained encoders to vectors and a summary.

  fairseq-xling clcr run config.yaml
  fairseq-xling clcr run config.yaml --output runs/clcr/en-de --seeds 1,2,3 --dry-run

Trains the transforms and, in turn, the encoders; finds pseudo-gold pivots; trains the key-point
classifiers and the order heads; writes the tables of both, and sequences of the texts named by
--encode-pairs and --encode-text into OUTPUT/sequences/SEED/ROW/NAME.LANG. If interrupted, the
same command resumes; what has not changed is not repeated.
"""

import argparse

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.papers.clcr.commands.clcr_train import add_arguments as add_arguments

GROUP = "CLCR"


def run(args: argparse.Namespace) -> None:
    check_installed("`fairseq-xling clcr run`", *OF_PAGES)
    from fairseq_xling.papers.clcr.run import Clcr

    Clcr().run(args)
