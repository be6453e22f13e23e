"""Migrate a pretrained encoder to other languages (TreLM), with one command.

  fairseq-xling trelm run config.yaml
  fairseq-xling trelm run config.yaml --output runs/de --languages en,de --dry-run

From an encoder checkpoint and plain text to a migrated checkpoint and a report: vocabulary, vectors
of its subwords, their map onto the encoder's embeddings, initial weights, the training phases,
evaluation and translation. If interrupted, the same command resumes; what has not changed is
not done again.
"""

import argparse

from fairseq_xling.core.named_files import NEW_FOLDER, Input

GROUP = "Migrate"
SPEC_ROWS = ("T5", "T6", "T8", "T9", "T25", "T26")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.trelm.config import TrelmConfig
    from fairseq_xling.runs.launcher import add_launch_options
    from fairseq_xling.runs.options import add_options

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    run = actions.add_parser(
        "run",
        help="run a migration from start to finish",
        description="Run a migration from start to finish. Every option may be set in the "
        "configuration file (without the leading dashes); the command line takes precedence.",
    )
    run.add_argument("config", nargs="?", metavar=Input("CONFIG"), help="YAML file of options")
    run.add_argument(
        "--output",
        metavar=NEW_FOLDER,
        help="folder of the run (default: runs/trelm/ and the name of the configuration file)",
    )
    add_launch_options(run)
    add_options(run, TrelmConfig, file_option=False)


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from fairseq_xling.core.errors import UserError
    from fairseq_xling.papers.trelm.run import run_trelm

    if not (args.output or args.config):
        raise UserError("`--output` must name a folder where there is no configuration file")
    args.output = args.output or str(Path("runs", "trelm", Path(args.config).stem))
    run_trelm(args)
