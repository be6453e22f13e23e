"""Train, migrate, evaluate and report small bilingual encoders on the embedded corpus.

  fairseq-xling demo --output runs/demo

Two bilingual encoders, one of which shares nothing, are compared and tested by zero-shot transfer;
one is migrated to German and translates. Everything is written to the output folder: report.html,
results.json, commands.sh (the exact commands), checkpoints and logs. If it is stopped, the same
command resumes.
"""

import argparse
import dataclasses
from pathlib import Path

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import NEW_FOLDER
from fairseq_xling.core.options import add_fields, option
from fairseq_xling.engine.precision import AUTO, ON_CPU

GROUP = "Start"


@dataclasses.dataclass(frozen=True)
class DemoOptions:
    scale: str = option(
        "mini",
        "tiny (a smoke test of a minute), mini (5 to 8 minutes on two cores) or small (about "
        "20 minutes, with a translator with slots, and an autoregressive model to compare with)",
        metavar="SCALE",
    )
    output: str = option("runs/demo", "folder of the run", metavar=NEW_FOLDER)
    seed: int = shared.seed(1, "seed of the corpus and of training", "SEED")
    jobs: int = option(2, "steps that run at the same time", least=1)
    precision: str = option(
        AUTO,
        "number format of training; auto is fp32: for encoders this small bf16 is no faster",
        choices=ON_CPU,
        usage=True,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.workflow.launcher import add_launch_options

    add_fields(parser, DemoOptions)
    add_launch_options(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.extras import OF_STUDIES, check_installed
    from fairseq_xling.core.registry import unknown_name
    from fairseq_xling.studies.demo.plan import SCALES, plan
    from fairseq_xling.studies.demo.record import FILES, write_demo
    from fairseq_xling.workflow.launcher import launch_of, run_steps
    from fairseq_xling.workflow.settled import settle
    from fairseq_xling.workflow.step import Step

    check_installed("`fairseq-xling demo`", *OF_STUDIES)
    if args.scale not in SCALES:
        raise unknown_name("`--scale`", args.scale, list(SCALES))
    folder, scale, seed = Path(args.output), SCALES[args.scale], args.seed
    # bf16 saves nothing at 64 units, whatever the processor: the conversions take longer than the
    # products gain. And so the figures of all machines agree.
    settled = settle(folder, "fp32" if args.precision == AUTO else args.precision, "cpu")
    steps = plan(folder, scale, seed, settled.precision)
    report = Step(
        "report",
        call=lambda: write_demo(folder, scale, seed, settled.precision, steps),
        settings={"scale": repr(scale), "seed": seed, "precision": settled.precision},
        inputs=[path for step in steps for path in step.outputs],
        outputs=[folder / name for name in FILES],
    )
    run_steps(folder, [*steps, report], args.jobs, launch_of(args), settled, shown="summary.txt")
