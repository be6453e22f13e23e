"""A run from its steps to what it prints at the end, or only its plan."""

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
    settled: Settled,
    shown: str = "table.md",
    before: str = "",
) -> None:
    """Bring every step to done and print what came out; with ``dry_run`` print the plan and stop.

    Args:
        run: the run's folder.
        settled: the number format that the steps were planned with.
        shown: the file in it that is printed.
        before: is said before anything runs.

    Raises:
        UserError: as `Runner`.
    """
    runner = Runner(run, steps, jobs, begin=functools.partial(settled.keep, run))
    if settled.line:
        print(settled.line)
    if dry_run:
        runner.print_plan()
        return
    if before:
        print(before)
    runner.run()
    print("\n" + (run / shown).read_text(encoding="utf-8"))
    print(f"report: {run / 'report.html'}")
    print(f"exact commands: {run / 'commands.sh'}")
