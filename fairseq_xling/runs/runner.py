"""Runs steps in order of their dependencies, skips those that are done, and shows progress.

Everything of a run lies in one folder: outputs, ``logs/<step>.log``, ``.steps/`` (stamps) and
``commands.sh`` with the exact commands.
"""

import concurrent.futures
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from fairseq_xling.compat import require_engine
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, exclusive, remove_unfinished
from fairseq_xling.runs import launch
from fairseq_xling.runs.command_check import check_command
from fairseq_xling.runs.display import Display, clock
from fairseq_xling.runs.forking import Forked, fork, fork_server
from fairseq_xling.runs.step import Stamp, Step, digests, predecessors
from fairseq_xling.runs.time_left import TimeLeft

_LAST_LINES = 15
_NOTE_EVERY = 5.0  # seconds, after which running steps note how long they have run


class Runner:
    """Runs ``steps``, given in an order in which they could run one by one.

    Args:
        folder: the run's folder; all outputs lie inside.
        jobs: how many steps may run at a time; each gets its share of the processors.
        display: where progress is shown.
        begin: called when the folder is there and locked, before the first step.
    """

    def __init__(
        self,
        folder: Path,
        steps: Sequence[Step],
        jobs: int = 1,
        display: Display | None = None,
        begin: Callable[[], None] = lambda: None,
    ):
        if jobs < 1:
            raise UserError(f"`--jobs` must be at least 1, got {jobs}")
        self.folder, self.steps, self.jobs = folder, list(steps), jobs
        self._display, self._begin = display or Display(), begin
        self._running: dict[str, subprocess.Popen | Forked] = {}
        self._stopping = threading.Event()

    def plan(self) -> list[tuple[Step, str]]:
        """Each step with its state: done, interrupted or new."""
        names = digests(self.steps)
        return [(step, Stamp(self.folder, step, names[step.name]).state()) for step in self.steps]

    def check(self, states: Sequence[tuple[Step, str]]) -> None:
        """Find now what a program would refuse after hours of earlier steps, or before any.

        Raises:
            UserError: for a program that is missing, or an argument that one refuses.
        """
        for step, state in states:
            for command in step.commands if state != "done" else ():
                _program(command[0])
                check_command(step.name, command)

    def print_plan(self) -> None:
        """What a run would do, without doing it; errors as those of `check`."""
        words = {"done": "done, skip", "interrupted": "resume", "new": "run"}
        plan = self.plan()
        self.check(plan)
        for number, (step, state) in enumerate(plan, start=1):
            self._display.line(f"[{number}/{len(self.steps)}] {step.name}: {words[state]}")
            for command in step.commands:
                self._display.line(f"      {shlex.join(command)}")

    def run(self) -> None:
        """Bring every step to done.

        Raises:
            UserError: if a step fails (the last lines of its log are shown), an input is missing,
                or another command uses the folder; and as `check`.
        """
        names = digests(self.steps)
        stamps = {step.name: Stamp(self.folder, step, names[step.name]) for step in self.steps}
        self.check([(step, stamps[step.name].state()) for step in self.steps])
        self.folder.mkdir(parents=True, exist_ok=True)
        state = self.folder / ".steps"
        state.mkdir(exist_ok=True)
        with exclusive(state, f"{self.folder}: another command is using this folder") as lock:
            self._lock = lock
            remove_unfinished(self.folder)
            self._begin()
            write_commands(self.folder / "commands.sh", self.steps)
            waiting, finished = [], set()
            for number, step in enumerate(self.steps, start=1):
                self._display.number(step.name, f"[{number}/{len(self.steps)}] {step.name}")
                if stamps[step.name].state() == "done":
                    finished.add(step.name)
                    took = clock(stamps[step.name].seconds())
                    self._display.end(step.name, f"done before in {took}, skipped")
                else:
                    waiting.append(step)
            with self._programs(waiting) as self._env:
                self._work(waiting, finished, stamps)

    def _programs(self, waiting: Sequence[Step]) -> contextlib.AbstractContextManager[dict]:
        """The environment of all programs; they are forked from one where several are to come."""
        threads = max(1, (os.cpu_count() or 1) // self.jobs)
        env = {"OMP_NUM_THREADS": str(threads), **os.environ, "PYTHONUNBUFFERED": "1"}
        ours = [c for step in waiting for c in step.commands if c[0].startswith("fairseq-")]
        return fork_server(env) if len(ours) > 1 else contextlib.nullcontext(env)

    def _work(self, waiting: list[Step], finished: set[str], stamps: dict[str, Stamp]) -> None:
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        going: dict[concurrent.futures.Future, Step] = {}
        earlier = predecessors(self.steps)
        noted, self._time_left = time.monotonic(), TimeLeft(waiting, self.jobs)
        try:
            while waiting or going:
                for step in list(waiting):
                    if len(going) == self.jobs:
                        break
                    if finished.issuperset(other.name for other in earlier[step.name]):
                        waiting.remove(step)
                        going[pool.submit(self._execute, step, stamps[step.name])] = step
                done, _ = concurrent.futures.wait(
                    going, timeout=0.5, return_when=concurrent.futures.FIRST_COMPLETED
                )
                for future in done:
                    step = going.pop(future)
                    future.result()
                    finished.add(step.name)
                self._display.tick(self._time_left.seconds)
                if time.monotonic() - noted > _NOTE_EVERY:
                    noted = time.monotonic()
                    for step in going.values():
                        stamps[step.name].tick()
        finally:
            self._stopping.set()
            for process in list(self._running.values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            self._display.close()

    def _execute(self, step: Step, stamp: Stamp) -> None:
        start = time.monotonic()
        fresh = stamp.state() != "interrupted"
        stamp.begin()
        self._time_left.begin(step.name)
        log = self.folder / "logs" / f"{step.name}.log"
        log.parent.mkdir(exist_ok=True)
        self._display.begin(step.name, lambda: step.progress(log) if step.progress else "")
        with open(log, "wb" if fresh else "ab") as file:
            if step.call is not None:
                step.call()
            for number, command in enumerate(step.commands, start=1):
                more = step.late() if step.late and number == len(step.commands) else ()
                self._command(step, [*command, *more], file)
        stamp.finish()
        self._time_left.end(step.name)
        self._display.end(step.name, f"done in {clock(time.monotonic() - start)}")

    def _command(self, step: Step, command: Sequence[str], log: IO[bytes]) -> None:
        # The lock travels with the child: if this process is killed, nobody else can start in the
        # folder until the child has ended too.
        with open(os.devnull) as nothing:
            streams = (nothing.fileno(), log.fileno(), log.fileno())
            program = _program(command[0])
            process = fork([program[-1], *command[1:]], self._env, (*streams, self._lock))
            if process is None:
                process = subprocess.Popen(
                    [*program, *command[1:]],
                    stdin=nothing,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    pass_fds=[self._lock],
                )
        self._running[step.name] = process
        if self._stopping.is_set():
            process.terminate()
        status = process.wait()
        del self._running[step.name]
        if status and not self._stopping.is_set():
            self._display.end(step.name, "FAILED")
            for line in _tail(Path(log.name)):
                self._display.line(f"  | {line}")
            raise UserError(
                f"step {step.name!r} failed with exit status {status}; its log is {log.name}; "
                "run the same command again to resume from here"
            )
        if status:
            raise UserError(f"step {step.name!r} was stopped")


def write_commands(path: Path, steps: Sequence[Step]) -> None:
    """A shell script with the exact commands of ``steps``, to read, copy or run."""
    with atomic_write(path, "w") as file:
        file.write("#!/usr/bin/env bash\n# The exact commands of this run, from the folder ")
        file.write("in which it was started.\nset -euo pipefail\n")
        file.write(f"cd {shlex.quote(os.getcwd())}\n")
        file.write(f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n")
        for step in steps:
            file.write(f"\n# {step.name}\n")
            if step.call is not None:
                file.write(f"# (inside fairseq-xling) writes {', '.join(map(str, step.outputs))}\n")
            for command in step.commands:
                file.write(shlex.join(command) + "\n")


def _program(name: str) -> list[str]:
    """The beginning of a command: the program installed with this Python, else the one on PATH."""
    own = Path(sys.executable).parent / name
    found = str(own) if own.is_file() else shutil.which(name)
    if found is None:
        if name.startswith("fairseq-"):
            require_engine()
        raise UserError(f"{name}: no such program next to {sys.executable} or on PATH")
    # What is only on PATH need not be a Python script; fairseq-xling does this by itself.
    if own.is_file() and name.startswith("fairseq-") and name != "fairseq-xling":
        return [sys.executable, "-m", launch.__name__, found]
    return [found]


def _tail(log: Path) -> list[str]:
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        text = file.read().decode("utf-8", "replace")
    return [line[:300] for line in text.replace("\r", "\n").splitlines() if line][-_LAST_LINES:]
