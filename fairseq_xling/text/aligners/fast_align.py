"""fast_align (Dyer, Chahuneau & Smith 2013) from the sil-thot package; the default.

IBM model 2 with p(a_j = i) proportional to exp(-tension * |i/m - j/n|): null probability 0.08,
tension 4 at first and then optimised, 5 iterations, variational Bayes with alpha 0.01.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.aligners.programs import run_programs


@aligners.register("fast_align")
class FastAlign:
    aligns = True
    gives_probabilities = True

    def check(self) -> None:
        if find_spec("thot") is None:
            raise UserError(
                "`--aligner fast_align` needs the package sil-thot: pip install sil-thot"
            )

    def align(
        self,
        source: Path,
        target: Path,
        forward: Path,
        reverse: Path,
        workers: int,
        report: Callable[[str], None],
        probabilities: bool = False,
    ) -> None:
        # A process per direction: within one, several threads would add up probabilities in
        # changing order, and the links would differ a little from run to run.
        worker = [sys.executable, "-m", "fairseq_xling.text.thot_worker"]
        scored = ["probabilities"] if probabilities else []
        run_programs(
            [
                [*worker, str(source), str(target), str(forward), "forward", *scored],
                [*worker, str(source), str(target), str(reverse), "reverse", *scored],
            ],
            [None, None],
            workers,
            report,
            marker="iteration",
        )
