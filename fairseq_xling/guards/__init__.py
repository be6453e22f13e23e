"""What fairseq's own functions lack: checks of what comes from outside, and errors in one line.

Each is wrapped once, where it is defined, so that everything passes through: options in `commands`,
what is read from a checkpoint in `reading`, what a training does to its folders in `training`,
which processes are of one training in `processes`. Ways around what is wrong in a version of
fairseq or torch are in `fairseq_xling.engine.compat` instead.
"""

from fairseq_xling.checkpoints.files import allow_fairseq_values
from fairseq_xling.engine.compat import repair_engine


def prepare_engine() -> None:
    """Make fairseq ready for whatever uses it; safe to call more than once."""
    if not repair_engine():
        return
    from fairseq_xling.guards import commands, processes, reading, training

    allow_fairseq_values()
    reading.install()
    training.install()
    commands.install()
    processes.install()
