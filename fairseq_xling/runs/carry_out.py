"""A run from its steps to its final output, or only its plan."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.runs.runner import Runner
from fairseq_xling.runs.step import Step


def carry_out(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    dry_run: bool,
    shown: str = "table.md",
    before: str = "",
) -> None:
    """Run every step and print the results; with ``dry_run`` print the plan and stop.

    Args:
        run: the run's folder.
        shown: the file in it that is printed.
        before: printed before anything runs.

    Raises:
        UserError: as `Runner`.
    """
    runner = Runner(run, steps, jobs)
    if dry_run:
        runner.print_plan()
        return
    if before:
        print(before)
    runner.run()
    print("\n" + (run / shown).read_text(encoding="utf-8"))
    print(f"report: {run / 'report.html'}")
    print(f"exact commands: {run / 'commands.sh'}")
