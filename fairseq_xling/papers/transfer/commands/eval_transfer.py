"""Fine-tune encoders on one language and test them on others: one table.

  fairseq-xling eval transfer --encoder checkpoint_best.pt --data data-bin --head ner \\
      --train en=train.conll --valid en=dev.conll --test de=test.conll --output runs/ner
  fairseq-xling eval transfer --config ner.yaml --output runs/ner --dry-run

Every encoder is trained with every setting of the grid (--lrs, --head-lrs, --batch-sizes) and seed;
the settings that are best on the source language's dev file are tested. Writes the table, a report,
all scores and all predictions, in the format of the test files. Several test sets (--test de=FILE
--test test1.de=FILE) each have a row of their own. If interrupted, the same command resumes.
"""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairseq_xling.papers.transfer.config import TransferConfig
    from fairseq_xling.papers.transfer.plan import TrainSet

GROUP = "Transfer"
SPEC_ROWS = ("E1", "E2", "E3", "E4", "E5", "E6", "E14", "S14")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.transfer.config import TransferConfig
    from fairseq_xling.runs.launcher import add_run_arguments
    from fairseq_xling.runs.options import add_options

    add_run_arguments(parser)
    add_options(parser, TransferConfig)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.transfer.plan import zero_shot

    run_study(args, zero_shot, "Zero-shot transfer")


def run_study(
    args: argparse.Namespace, sets: "Callable[[TransferConfig], list[TrainSet]]", title: str
) -> None:
    """Plan and run everything; or only print the plan, with ``args.dry_run``."""
    from fairseq_xling.papers.transfer.config import PRESETS, TransferConfig, check_config
    from fairseq_xling.papers.transfer.plan import check_languages, check_layers, encoders
    from fairseq_xling.papers.transfer.steps import study_steps
    from fairseq_xling.papers.transfer.transfer_result import FILES, write_transfer
    from fairseq_xling.runs.launcher import run_steps
    from fairseq_xling.runs.options import load_config
    from fairseq_xling.runs.settled import settle_config
    from fairseq_xling.runs.step import Step

    config, run = load_config(TransferConfig, args, PRESETS), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    chosen, trained = encoders(config), sets(config)
    check_languages(chosen, trained)
    check_layers(config, chosen)
    steps, rows = study_steps(run, config, chosen, trained)
    table = Step(
        "table",
        call=functools.partial(write_transfer, run, config, title, rows, steps),
        settings={"config": repr(config), "title": title},
        inputs=[row.result for row in rows],
        outputs=[run / name for name in FILES],
    )
    run_steps(run, [*steps, table], config.jobs, args, settled)
