"""Word aligners by name (`--aligner`), which write links of numbered words in both directions."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.registry import Registry
from fairseq_xling.core.texts import read_lines

Report = Callable[[str], None]


class Aligner:
    """A word aligner.

    ``aligns`` is False for the one that does nothing. `align` of one that ``gives_probabilities``
    has a further argument ``probabilities``: whether links are written as ``i-j:p``. One that
    ``keeps_parameters`` has a further argument ``parameters``, the folder that its method
    ``train(source, target, parameters, workers, report)`` has filled: links are those of the model
    in it, which learns nothing from the text.
    """

    aligns: bool = True
    gives_probabilities: bool = False
    keeps_parameters: bool = False

    def check(self) -> None:
        """Check that it can run here."""

    def align(
        self, source: Path, target: Path, forward: Path, reverse: Path, workers: int, report: Report
    ) -> None:
        """Write links ``i-j`` (i source, j target token) of every line.

        In ``forward`` each target token has at most one source token, in ``reverse`` each source
        token at most one target token. ``report`` receives a short text at each step.
        """
        raise NotImplementedError


aligners: Registry[type[Aligner]] = Registry("aligner")


def find_program(name: str, option: str, install: str) -> str:
    """Path of a program on PATH."""
    path = shutil.which(name)
    if path is None:
        raise UserError(f"`--aligner {option}` needs the program {name!r} on PATH: {install}")
    return path


def run_programs(
    commands: Sequence[Sequence[str]],
    outputs: Sequence[Path | None],
    workers: int,
    report: Report,
    marker: str = "",
) -> None:
    """Run ``commands``, up to ``workers`` at once, each one's standard output into its file.

    Lines of standard error that begin with ``marker`` go to ``report``. A program that needs
    repeatable sums gets one thread (``OMP_NUM_THREADS=1``).
    """
    lock = threading.Lock()

    def run(command: Sequence[str], output: Path | None) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        # Named after this process: one that outlived an earlier run may still write its own.
        part = Path(f"{output}.{os.getpid()}.part") if output is not None else None
        with open(part or os.devnull, "wb") as sink:
            process = subprocess.Popen(
                list(command),
                stdout=sink,
                stderr=subprocess.PIPE,
                env=environment,
                encoding="utf-8",
                errors="replace",
            )
            last = ""
            for line in process.stderr:
                last = line.strip() or last
                if marker and line.startswith(marker):
                    with lock:
                        report(line.strip())
        if process.wait() != 0:
            name = Path(command[0]).name
            raise UserError(f"{name} failed with exit status {process.returncode}: {last}")
        if part is not None:
            os.replace(part, output)

    with ThreadPoolExecutor(max(1, min(workers, len(commands)))) as pool:
        futures = [pool.submit(run, *job) for job in zip(commands, outputs, strict=True)]
    for future in futures:
        future.result()


_WAYS = ("forward", "reverse")


@aligners.register("fast_align")
class FastAlign(Aligner):
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
        report: Report,
        probabilities: bool = False,
        parameters: Path | None = None,
    ) -> None:
        options = [
            ["probabilities"] * probabilities
            + ([f"model={parameters / way}"] if parameters else [])
            for way in _WAYS
        ]
        self._run(source, target, (forward, reverse), options, workers, report)

    def train(
        self, source: Path, target: Path, parameters: Path, workers: int, report: Report
    ) -> None:
        outputs = [parameters / way for way in _WAYS]
        self._run(source, target, outputs, [["train"], ["train"]], workers, report)

    def _run(
        self,
        source: Path,
        target: Path,
        outputs: Sequence[Path],
        options: Sequence[list[str]],
        workers: int,
        report: Report,
    ) -> None:
        # A process per direction: within one, several threads would add up probabilities in
        # changing order, and the links would differ a little from run to run.
        worker = [sys.executable, "-m", "fairseq_xling.text.thot_worker", str(source), str(target)]
        commands = [
            [*worker, str(output), way, *more]
            for output, way, more in zip(outputs, _WAYS, options, strict=True)
        ]
        run_programs(commands, [None, None], workers, report, marker="iteration")


_OPTIONS = ("-d", "-o", "-v")  # favour the diagonal, optimise its tension, variational Bayes


@aligners.register("fast_align_binary")
class FastAlignBinary(Aligner):
    def check(self) -> None:
        self._program()

    def _program(self) -> str:
        return find_program(
            "fast_align", "fast_align_binary", "build https://github.com/clab/fast_align"
        )

    def align(
        self, source: Path, target: Path, forward: Path, reverse: Path, workers: int, report: Report
    ) -> None:
        both = source.with_name("both.txt")
        with atomic_write(both, "w") as file:
            for a, b in zip(read_lines(source), read_lines(target), strict=True):
                file.write(f"{a} ||| {b}\n")
        command = [self._program(), "-i", str(both), *_OPTIONS]
        commands = [command, [*command, "-r"]]
        run_programs(commands, [forward, reverse], workers, report, marker="ITERATION")


@aligners.register("eflomal")
class Eflomal(Aligner):
    def check(self) -> None:
        self._program()

    def _program(self) -> str:
        return find_program("eflomal-align", "eflomal", "pip install eflomal")

    def align(
        self, source: Path, target: Path, forward: Path, reverse: Path, workers: int, report: Report
    ) -> None:
        parts = [Path(f"{path}.{os.getpid()}.part") for path in (forward, reverse)]
        command = [self._program(), "-s", str(source), "-t", str(target)]
        command += ["-f", str(parts[0]), "-r", str(parts[1])]
        run_programs([command], [None], workers, report)
        for part, path in zip(parts, (forward, reverse), strict=True):
            os.replace(part, path)


@aligners.register("none")
class NoAligner(Aligner):
    aligns = False
