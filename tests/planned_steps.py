"""What tests read of the steps of a plan."""

from collections.abc import Sequence

from fairseq_xling.workflow.step import Plan, Step


def value(step: Step, option: str) -> str:
    """What follows ``option`` in the step's only command."""
    (command,) = step.commands
    assert command.count(option) == 1, f"{option} in {command}"
    return str(command[command.index(option) + 1])


def digests(steps: Sequence[Step]) -> dict[str, str]:
    """The digest of every step by name."""
    return Plan(steps).digests()
