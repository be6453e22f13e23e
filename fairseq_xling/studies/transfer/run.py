"""The verbs ``eval transfer`` and ``eval matrix``."""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.transfer.config import TransferConfig, check_config
from fairseq_xling.studies.transfer.presets import PRESETS

if TYPE_CHECKING:
    from fairseq_xling.studies.transfer.plan import TrainSet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of both verbs."""
    from fairseq_xling.runs.launcher import add_run_arguments
    from fairseq_xling.runs.options import add_options

    add_run_arguments(parser)
    add_options(parser, TransferConfig)


def run_study(
    args: argparse.Namespace, sets: "Callable[[TransferConfig], list[TrainSet]]", title: str
) -> None:
    """Plan and run everything; or only print the plan, with ``args.dry_run``.

    Raises:
        UserError: for bad settings, missing or damaged input, or a step that fails.
    """
    # Their imports take long, and the options' help needs none of them.
    from fairseq_xling.studies.transfer.plan import check_languages, check_layers, encoders
    from fairseq_xling.studies.transfer.steps import study_steps
    from fairseq_xling.studies.transfer.transfer_result import FILES, write_transfer

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
