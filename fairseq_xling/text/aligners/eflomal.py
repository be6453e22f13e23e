"""eflomal (Östling & Tiedemann 2016), if installed; it samples, so runs differ."""

import os
from collections.abc import Callable
from pathlib import Path

from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.aligners.programs import find_program, run_programs


@aligners.register("eflomal")
class Eflomal:
    aligns = True
    gives_probabilities = False
    keeps_parameters = False

    def check(self) -> None:
        self._program()

    def _program(self) -> str:
        return find_program("eflomal-align", "eflomal", "pip install eflomal")

    def align(
        self,
        source: Path,
        target: Path,
        forward: Path,
        reverse: Path,
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        parts = [Path(f"{path}.{os.getpid()}.part") for path in (forward, reverse)]
        command = [self._program(), "-s", str(source), "-t", str(target)]
        command += ["-f", str(parts[0]), "-r", str(parts[1])]
        run_programs([command], [None], workers, report)
        for part, path in zip(parts, (forward, reverse), strict=True):
            os.replace(part, path)
