"""Migrate a pretrained encoder to other languages (TreLM), with one command.

  fairseq-xling trelm run config.yaml
  fairseq-xling trelm run config.yaml --output runs/de --languages en,de --dry-run

From an encoder checkpoint and plain text to a migrated checkpoint and a report: vocabulary, vectors
of its subwords, their map onto the encoder's embeddings, initial weights, the training phases,
evaluation and translation. If interrupted, the same command resumes; what has not changed is
not done again.
"""

import argparse
from pathlib import Path

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.trelm.config import RunConfig
    from fairseq_xling.workflow.launcher import add_configured_run

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    run = actions.add_parser(
        "run",
        help="run a migration from start to finish",
        description="Run a migration from start to finish. Every option may be set in the "
        "configuration file (without the leading dashes); the command line takes precedence.",
    )
    add_configured_run(run, RunConfig, "trelm")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.extras import OF_STUDIES, check_installed
    from fairseq_xling.papers.trelm.inputs import read_run
    from fairseq_xling.papers.trelm.run import run_trelm
    from fairseq_xling.workflow.launcher import configured_output, launch_of

    check_installed("`fairseq-xling trelm`", *OF_STUDIES)
    args.output = configured_output(args, "trelm")
    folder = Path(args.output)
    config, chosen = read_run(args)
    run_trelm(folder, config, launch_of(args), chosen)
