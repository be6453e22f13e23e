"""Runs steps in order of their dependencies, skips those that are done, and shows progress.

Everything of a run lies in one folder: outputs, ``logs/<step>.log``, ``.steps/`` (stamps) and
``commands.sh`` with the exact commands.
"""

import concurrent.futures
import contextlib
import functools
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError, one_line, program_error
from fairseq_xling.core.files import atomic_write, exclusive, remove_unfinished
from fairseq_xling.core.progress import clock
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine import extensions
from fairseq_xling.workflow.commands import check_command, find_program
from fairseq_xling.workflow.display import Display, TimeLeft
from fairseq_xling.workflow.launchers import Launcher, StepFailed
from fairseq_xling.workflow.launchers.local import Local
from fairseq_xling.workflow.step import Plan, Stamp, Step, appears, last_lines

_NOTE_EVERY = 5.0  # seconds, after which running steps note how long they have run


class Runner:
    """Runs ``steps``, given in an order in which they could run one by one.

    Args:
        folder: the run's folder; all outputs lie inside.
        jobs: how many steps may run at a time; each gets its share of the processors.
        begin: called when the folder is there and locked, before the first step.
        launcher: makes a `workflow.launchers.Launcher` of its first three arguments.
    """

    def __init__(
        self,
        folder: Path,
        steps: Sequence[Step],
        jobs: int = 1,
        display: Display | None = None,
        begin: Callable[[], None] = lambda: None,
        launcher: Callable[..., Launcher] = Local,
    ):
        check_bound("steps", len(steps), folder)
        self.folder, self.steps = folder, list(steps)
        self.graph = Plan(self.steps)
        self._display, self._begin = display or Display(), begin
        self._launcher = launcher(folder, jobs, self._display.line)

    def plan(self) -> list[tuple[Step, str]]:
        """Each step with its state: done, interrupted or new."""
        stamps = self._stamps()
        return [(step, stamps[step.name].state()) for step in self.steps]

    def _stamps(self, names: Iterable[str] | None = None) -> dict[str, Stamp]:
        found = self.graph.digests(names)
        return {s.name: Stamp(self.folder, s, found[s.name]) for s in self.steps if s.name in found}

    def check(self, states: Sequence[tuple[Step, str]]) -> None:
        """Find now what a program would refuse after hours of earlier steps, or before any."""
        self.graph.refuse_removed_inputs()
        for step, state in states:
            for command in step.commands if state != "done" else ():
                find_program(command[0])
                check_command(step.name, command)

    def print_plan(self) -> None:
        """What a run would do, without doing it; errors as those of `check`."""
        words = {"done": "done, skip", "interrupted": "resume", "new": "run"}
        plan = self.plan()
        self.check(plan)
        if _folders():
            self._display.line(_folders())
        for number, (step, state) in enumerate(plan, start=1):
            self._display.line(f"[{number}/{len(self.steps)}] {step.name}: {words[state]}")
            for command in step.commands:
                self._display.line(f"      {shlex.join(command)}")

    def run(self) -> None:
        """Bring every step to done."""
        stamps = self._stamps()
        states = [(step, stamps[step.name].state()) for step in self.steps]
        self.check(states)
        self._launcher.check([step for step, state in states if state != "done"])
        with self._owned() as lock:
            waiting, finished = [], set()
            for number, step in enumerate(self.steps, start=1):
                self._display.number(step.name, f"[{number}/{len(self.steps)}] {step.name}")
                if stamps[step.name].state() == "done":
                    finished.add(step.name)
                    took = clock(stamps[step.name].seconds())
                    self._display.end(step.name, f"done before in {took}, skipped")
                else:
                    waiting.append(step)
            with self._launcher.open(waiting, [lock]):
                self._work(waiting, finished, stamps)

    @contextlib.contextmanager
    def _owned(self) -> Iterator[int]:
        """The run's folder, for this command alone, with what each run has in it."""
        state = self.folder / ".steps"
        state.mkdir(parents=True, exist_ok=True)
        with exclusive(state, f"{self.folder}: another command is using this folder") as lock:
            remove_unfinished(self.folder)
            self._begin()
            write_commands(self.folder / "commands.sh", self.steps)
            yield lock

    def run_one(self, name: str) -> None:
        """Bring one step to done, whose inputs are there; other processes may be at other steps."""
        known = {step.name: step for step in self.steps}
        if name not in known:
            raise UserError(f"`--only-step`: {unknown_name('step', name, list(known))}")
        stamps = self._stamps(self.graph.needed(name))
        for other in self.graph.before[name]:
            if not appears(lambda stamp=stamps[other.name]: stamp.state() == "done"):
                raise UserError(f"step {name!r} needs step {other.name!r}, which is not done")
        (self.folder / ".steps").mkdir(parents=True, exist_ok=True)
        if stamps[name].state() == "done":
            return self._display.end(name, "done before, skipped")
        self._launcher.check([known[name]])
        try:
            with self._launcher.open([known[name]]):
                self._work([known[name]], {other.name for other in self.steps} - {name}, stamps)
        except Exception as error:
            if not getattr(error, "killed", False):
                stamps[name].fail(program_error(one_line(error)).args[0])
            raise

    def _work(self, waiting: list[Step], finished: set[str], stamps: dict[str, Stamp]) -> None:
        limit = self._launcher.limit
        pool = concurrent.futures.ThreadPoolExecutor(limit)
        going: dict[concurrent.futures.Future, Step] = {}
        noted, self._time_left = time.monotonic(), TimeLeft(waiting, limit, self.graph.before)
        try:
            while waiting or going:
                for step in list(waiting):
                    if len(going) == limit:
                        break
                    if finished.issuperset(other.name for other in self.graph.before[step.name]):
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
            self._launcher.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            self._display.close()
            if (waiting or going) and (words := self._launcher.last_words()):
                self._display.line(words)

    def _execute(self, step: Step, stamp: Stamp) -> None:
        start = time.monotonic()
        self._time_left.begin(step.name)
        self._display.begin(step.name, functools.partial(self._launcher.progress, step))
        try:
            self._launcher.carry_out(step, stamp)
        except StepFailed:
            self._display.end(step.name, "FAILED")
            for line in last_lines(step.log(self.folder)):
                self._display.line(f"  | {line}")
            raise
        self._time_left.end(step.name)
        self._display.end(step.name, f"done in {clock(time.monotonic() - start)}")


def write_commands(path: Path, steps: Sequence[Step]) -> None:
    """A shell script with the exact commands of ``steps``, to read, copy or run."""
    with atomic_write(path, "w") as file:
        file.write("#!/usr/bin/env bash\n# The exact commands of this run, from the folder ")
        file.write("in which it was started.\nset -euo pipefail\n")
        file.write(f"cd {shlex.quote(os.getcwd())}\n")
        file.write(f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n")
        file.write(_folders() and f"{_folders()}\n")
        for step in steps:
            file.write(f"\n# {step.name}\n")
            if step.call is not None:
                file.write(f"# (inside fairseq-xling) writes {', '.join(map(str, step.outputs))}\n")
            for command in step.commands:
                file.write(shlex.join(command) + "\n")


def _folders() -> str:
    """The line of shell that names the folders of `--user-dir`; empty if there is none."""
    named = os.pathsep.join(extensions.named_folders())
    return named and f"export {extensions.VARIABLE}={shlex.quote(named)}"
