"""From two pretrained encoders to sequences of vectors and a summary, with one command (CLCR).

  fairseq-xling clcr run config.yaml
  fairseq-xling clcr run config.yaml --output runs/clcr/en-de --seeds 1,2,3 --dry-run

Trains the transforms and, in turn, the encoders; finds pseudo-gold pivots; trains the key-point
classifiers and the order heads; writes the tables of both, and sequences of the texts named by
--encode-pairs and --encode-text into OUTPUT/sequences/SEED/ROW/NAME.LANG. Stopped in between, the
same command goes on; what has not changed is not done again.
"""

import argparse

GROUP = "CLCR"
SPEC_ROWS = ("C14", "C17")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.cli.clcr_train import add_arguments as add

    add(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.clcr.run import output_of, run_clcr

    args.output = output_of(args)
    run_clcr(args, everything=True)
