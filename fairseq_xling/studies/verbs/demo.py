"""Train, migrate, evaluate and report small bilingual encoders on the embedded corpus.

  fairseq-xling demo --output runs/demo

Two bilingual encoders, one of which shares nothing, are compared and tested by zero-shot transfer;
one is migrated to German and translates. Everything is written to the output folder: report.html,
results.json, commands.sh (the exact commands), checkpoints and logs. If it is stopped, the same
command resumes.
"""

import argparse

from fairseq_xling.named_files import NEW_FOLDER
from fairseq_xling.ranges import COUNT, Number
from fairseq_xling.seeds import SEED

GROUP = "Start"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.precision import AUTO, ON_CPU
    from fairseq_xling.runs.launcher import add_launch_options

    parser.add_argument(
        "--scale",
        metavar="SCALE",
        default="mini",
        help="tiny (a smoke test of a minute), mini (about 5 minutes on two cores) or small (about "
        "20 minutes, with an autoregressive model to compare with)",
    )
    parser.add_argument(
        "--output", default="runs/demo", metavar=NEW_FOLDER, help="folder of the run"
    )
    parser.add_argument("--seed", type=SEED, default=1, help="seed of the corpus and of training")
    parser.add_argument(
        "--jobs",
        type=Number(int, COUNT),
        default=2,
        metavar="N",
        help="steps that run at the same time",
    )
    parser.add_argument(
        "--precision",
        choices=ON_CPU,
        default=AUTO,
        help="number format of training; auto is fp32: for encoders this small bf16 is no faster",
    )
    add_launch_options(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.studies.demo.plan import run_demo

    run_demo(args)
