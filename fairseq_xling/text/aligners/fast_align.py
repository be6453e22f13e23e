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
    keeps_parameters = True

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
        parameters: Path | None = None,
    ) -> None:
        scored = ["probabilities"] if probabilities else []
        self._run(source, target, (forward, reverse), parameters, scored, workers, report)

    def train(
        self,
        source: Path,
        target: Path,
        parameters: Path,
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        outputs = (parameters / "forward", parameters / "reverse")
        self._run(source, target, outputs, None, ["train"], workers, report)

    def _run(
        self,
        source: Path,
        target: Path,
        outputs: tuple[Path, Path],
        parameters: Path | None,
        options: list[str],
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        # A process per direction: within one, several threads would add up probabilities in
        # changing order, and the links would differ a little from run to run.
        worker = [sys.executable, "-m", "fairseq_xling.text.thot_worker", str(source), str(target)]
        commands = []
        for way, output in zip(("forward", "reverse"), outputs, strict=True):
            model = [f"model={parameters / way}"] if parameters else []
            commands.append([*worker, str(output), way, *options, *model])
        run_programs(commands, [None, None], workers, report, marker="iteration")
