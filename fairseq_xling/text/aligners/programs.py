"""Run an aligner's program: found on PATH, in parallel, with output complete or absent."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fairseq_xling.errors import UserError


def find_program(name: str, option: str, install: str) -> str:
    """Path of a program on PATH.

    Raises:
        UserError: if it is missing; says what to install.
    """
    path = shutil.which(name)
    if path is None:
        raise UserError(f"`--aligner {option}` needs the program {name!r} on PATH: {install}")
    return path


def run_programs(
    commands: Sequence[Sequence[str]],
    outputs: Sequence[Path | None],
    workers: int,
    report: Callable[[str], None],
    marker: str = "",
) -> None:
    """Run ``commands``, up to ``workers`` at once, each one's standard output into its file.

    Lines of standard error that begin with ``marker`` go to ``report``. A program that needs
    repeatable sums gets one thread (``OMP_NUM_THREADS=1``).

    Raises:
        UserError: if one fails, with the last line that it wrote to standard error.
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
