"""What tests read of the steps of a plan."""

from fairseq_xling.workflow.step import Step


def value(step: Step, option: str) -> str:
    """What follows ``option`` in the step's only command."""
    (command,) = step.commands
    assert command.count(option) == 1, f"{option} in {command}"
    return str(command[command.index(option) + 1])
