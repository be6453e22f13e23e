"""Train the transforms between two encoders, then the encoders in turn, with one command.

  fairseq-xling clcr train config.yaml
  fairseq-xling clcr train --data data-bin --encoder en=bert-folder --encoder de=model.pt \\
      --output runs/clcr/en-de

A driver of `fairseq-train --task clcr`: first T12 and T21 alone, then --rounds times the first and
the second encoder. OUTPUT/commands.sh lists the exact calls. If interrupted, the same command
resumes; `fairseq-xling clcr run` with the same settings continues from here.
"""

import argparse

from fairseq_xling.core.named_files import NEW_FOLDER, Input

GROUP = "CLCR"
SPEC_ROWS = ("C5",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.clcr.config import ClcrRunConfig
    from fairseq_xling.runs.launcher import add_launch_options
    from fairseq_xling.runs.options import add_options

    parser.add_argument("config", nargs="?", metavar=Input("CONFIG"), help="YAML file of options")
    parser.add_argument(
        "--output",
        metavar=NEW_FOLDER,
        help="folder of the run (default: runs/clcr/ and the name of the configuration file)",
    )
    add_launch_options(parser)
    add_options(parser, ClcrRunConfig, file_option=False)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.plan import output_of, run_clcr

    args.output = output_of(args)
    run_clcr(args, everything=False)
