"""A run from its steps to its final output, or only its plan."""

import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.runs.runner import Runner
from fairseq_xling.runs.settled import Settled
from fairseq_xling.runs.step import Step


def carry_out(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    dry_run: bool,
    settled: Settled | None = None,
    shown: str = "table.md",
    before: str = "",
) -> None:
    """Run every step and print the results; with ``dry_run`` print the plan and stop.

    Args:
        run: the run's folder.
        settled: the number format that the steps were planned with, if they train anything.
        shown: the file in it that is printed.
        before: printed before anything runs.

    Raises:
        UserError: as `Runner`.
    """
    if not take_steps(run, steps, jobs, dry_run, settled, before):
        return
    print("\n" + (run / shown).read_text(encoding="utf-8"))
    print(f"report: {run / 'report.html'}")
    print(f"exact commands: {run / 'commands.sh'}")


def take_steps(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    dry_run: bool,
    settled: Settled | None = None,
    before: str = "",
) -> bool:
    """Run every step and return True; with ``dry_run`` print the plan and return False.

    Arguments and errors as `carry_out`'s.
    """
    begin = {"begin": functools.partial(settled.keep, run)} if settled else {}
    runner = Runner(run, steps, jobs, **begin)
    if settled and settled.line:
        print(settled.line)
    if dry_run:
        runner.print_plan()
        return False
    if before:
        print(before)
    runner.run()
    return True
