"""Train, evaluate and report two small bilingual encoders on the embedded corpus.

  fairseq-xling demo --scale small --output runs/demo

Everything lies in the output folder: report.html, results.json, commands.sh (the exact commands),
checkpoints and logs. Stopped in between, the same command goes on.
"""

import argparse

GROUP = "Start"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scale", choices=("tiny", "small"), default="small", help="tiny only shows that it works"
    )
    parser.add_argument("--output", default="runs/demo", metavar="DIR", help="folder of the run")
    parser.add_argument("--seed", type=int, default=1, help="of the corpus and of training")
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="steps that run at the same time"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.runs.demo import run_demo

    run_demo(args.scale, args.output, args.seed, args.jobs, args.dry_run)
