"""No alignment: for objectives that need no order, or if existing files cover everything."""

from collections.abc import Callable
from pathlib import Path

from fairseq_xling.text.aligners import aligners


@aligners.register("none")
class NoAligner:
    aligns = False
    gives_probabilities = False
    keeps_parameters = False

    def check(self) -> None:
        """Always there."""

    def align(
        self,
        source: Path,
        target: Path,
        forward: Path,
        reverse: Path,
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        """Writes nothing."""
