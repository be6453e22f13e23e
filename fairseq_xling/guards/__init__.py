"""What fairseq's own functions lack: checks of what comes from outside, and errors in one line.

Each is wrapped once, where it is defined, so that everything passes through: options in `commands`,
what is read from a checkpoint in `reading`, what a training does to its folders in `training`. Ways
around what is wrong in a version of fairseq or torch are in `fairseq_xling.compat` instead.
"""

from fairseq_xling.guards import commands, reading, training


def install() -> None:
    """Wrap them; once in a process."""
    reading.install()
    training.install()
    commands.install()
