"""A run from its steps to its final output, or only its plan."""

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.errors import about
from fairseq_xling.runs.exports import EXPORTS
from fairseq_xling.runs.launching import command_of, launcher_of
from fairseq_xling.runs.runner import Runner
from fairseq_xling.runs.settled import Settled
from fairseq_xling.runs.step import Step


def carry_out(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    args: argparse.Namespace,
    settled: Settled | None = None,
    shown: str = "table.md",
    before: str = "",
) -> None:
    """Run every step and print the results; or only what ``args`` ask for, such as the plan.

    Args:
        run: the run's folder.
        args: the command's, with the options of `launching.add_launch_options`.
        settled: the number format that the steps were planned with, if they train anything.
        shown: the file in it that is printed.
        before: printed before anything runs.

    Raises:
        UserError: as `Runner`, or for a launcher that cannot be used.
    """
    if not take_steps(run, steps, jobs, args, settled, before):
        return
    print("\n" + (run / shown).read_text(encoding="utf-8"))
    print(f"report: {run / 'report.html'}")
    print(f"exact commands: {run / 'commands.sh'}")


def take_steps(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    args: argparse.Namespace,
    settled: Settled | None = None,
    before: str = "",
) -> bool:
    """Run every step and return True; return False where ``args`` ask for something else.

    Arguments and errors as `carry_out`'s.
    """
    begin = {"begin": functools.partial(settled.keep, run)} if settled else {}
    runner = Runner(run, steps, jobs, launcher=launcher_of(args), **begin)
    if settled and settled.line:
        print(settled.line)
    if args.only_step:
        runner.run_one(args.only_step)
        return False
    if args.dry_run:
        runner.print_plan()
        return False
    if before:
        print(before)
    if args.export:
        with about("`--export`"):
            write = EXPORTS[args.export]
        runner.export(write, command_of(args))
        return False
    runner.run()
    return True
