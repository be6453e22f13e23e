"""Word aligners: programs that find which words of two sentences are translations of each other.

All of them read two files of tokens separated by spaces (line n of both is one sentence pair, no
line is empty) and write two Pharaoh files. Adding one is adding a file.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from fairseq_xling.registry import Registry


class Aligner(Protocol):
    """A word aligner.

    ``aligns`` is False for the one that does nothing. `align` of one that ``gives_probabilities``
    has a further argument ``probabilities``: whether links are written as ``i-j:p``. One that
    ``keeps_parameters`` has a further argument ``parameters``, the folder that its method
    ``train(source, target, parameters, workers, report)`` has filled: links are those of the model
    in it, which learns nothing from the text.
    """

    aligns: bool
    gives_probabilities: bool
    keeps_parameters: bool

    def check(self) -> None:
        """Check that it can run here.

        Raises:
            UserError: if a program or package is missing (the message says what to install).
        """

    def align(
        self,
        source: Path,
        target: Path,
        forward: Path,
        reverse: Path,
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        """Write links ``i-j`` (i source, j target token) of every line.

        In ``forward`` each target token has at most one source token, in ``reverse`` each source
        token at most one target token. ``report`` receives a short text at each step.

        Raises:
            UserError: if the aligner fails.
        """


aligners: Registry[type[Aligner]] = Registry("aligner", __name__)
