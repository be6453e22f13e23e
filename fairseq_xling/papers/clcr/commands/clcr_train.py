"""Train the transforms between two encoders, then the encoders in turn, with one command.

  fairseq-xling clcr train config.yaml
  fairseq-xling clcr train --data data-bin --encoder en=bert-folder --encoder de=model.pt \\
      --output runs/clcr/en-de

A driver of `fairseq-train --task clcr`: first T12 and T21 alone, then --rounds times the first and
the second encoder. OUTPUT/commands.sh lists the exact calls. If interrupted, the same command
resumes; `fairseq-xling clcr run` with the same settings continues from here.
"""

import argparse

GROUP = "CLCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.clcr.options import Options
    from fairseq_xling.workflow.launcher import add_configured_run

    add_configured_run(parser, Options, "clcr")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.run import Clcr

    Clcr().run(args, everything=False)
