"""Where the steps of a run are carried out: one file each, registered in ``LAUNCHERS``."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import NoOptions
from fairseq_xling.core.registry import Registry
from fairseq_xling.workflow.step import Stamp, Step

FOLDERS = ("fairseq_xling.workflow.launchers",)


class StepFailed(UserError):
    """A step's program ended with an error, which the end of its log says; where a signal ended it,
    it was ``killed``, and may end well another time."""

    def __init__(self, message: str, killed: bool = False):
        super().__init__(message)
        self.killed = killed


class Launcher:
    """Base class; one object serves one run.

    Class attributes: ``options``, a dataclass of what `--launcher-args` can say.

    Args:
        jobs: how many steps may run at the same time on one machine.
        say: prints a line that stays.
        values: an object of ``options``.
        command: the command that carries out the step of a name.
    """

    options: type = NoOptions

    def __init__(
        self,
        folder: Path,
        jobs: int,
        say: Callable[[str], None],
        values: Any = None,
        command: Callable[[str], list[str]] = lambda name: [],
    ):
        self.folder, self.say, self.command = folder, say, command
        self.values = values or self.options()
        self.limit = jobs  # how many steps are carried out at the same time

    def check(self, steps: Sequence[Step]) -> None:
        """Find out, before anything is written, whether ``steps`` can be carried out."""

    def open(
        self, steps: Sequence[Step], locks: Sequence[int] = ()
    ) -> AbstractContextManager[None]:
        """What is there as long as ``steps`` are carried out; programs that keep the descriptors
        ``locks`` open keep others out of the run's folder."""
        return nullcontext()

    def carry_out(self, step: Step, stamp: Stamp) -> None:
        """Bring ``step`` to done, called from several threads at the same time; a StepFailed if its
        program fails, a UserError if it was stopped or left no outputs."""
        raise NotImplementedError(type(self).__name__)

    def progress(self, step: Step) -> str:
        """How far a step is, in a few words; empty if nobody knows."""
        log = step.log(self.folder)
        return step.progress(log) if step.progress and log.exists() else ""

    def stop(self) -> None:
        """No more is wanted: `carry_out` returns soon wherever it is."""

    def last_words(self) -> str:
        """What a user should know after a run that ended early; empty for nothing."""
        return ""


LAUNCHERS: Registry[type[Launcher]] = Registry("launcher", *FOLDERS)
