"""Steps as child processes of the command, on its machine."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive, replace_link, unlink_link
from fairseq_xling.workflow.commands import find_program
from fairseq_xling.workflow.forking import Forked, fork, fork_server
from fairseq_xling.workflow.launchers import LAUNCHERS, Launcher, StepFailed
from fairseq_xling.workflow.step import Stamp, Step, gpus_of


@LAUNCHERS.register("local")
class Local(Launcher):
    """Each step has its share of the processors; all see the same GPUs."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._running: dict[str, subprocess.Popen | Forked] = {}
        self._stopping = threading.Event()

    def check(self, steps: Sequence[Step]) -> None:
        if any(map(gpus_of, steps)):
            from fairseq_xling.engine.devices import usable_device  # imports torch

            usable_device("cuda")  # fairseq-train would silently run on the CPU

    @contextlib.contextmanager
    def open(self, steps: Sequence[Step], locks: Sequence[int] = ()) -> Iterator[None]:
        self._locks = locks
        threads = str(max(1, (os.cpu_count() or 1) // self.limit))
        env = {"OMP_NUM_THREADS": threads, **os.environ, "PYTHONUNBUFFERED": "1"}
        ours = [c for step in steps for c in step.commands if c[0].startswith("fairseq-")]
        # They are forked from one process where several are to come.
        with fork_server(env) if len(ours) > 1 else contextlib.nullcontext(env) as self._env:
            yield

    def carry_out(self, step: Step, stamp: Stamp) -> None:
        mine = stamp.path.with_suffix(".lock")
        unlink_link(mine)
        mine.touch()
        taken = f"step {step.name!r} is being carried out by another process, here or as a job"
        with exclusive(mine, taken) as held:
            fresh = stamp.state() != "interrupted"
            stamp.begin()
            log = step.log(self.folder)
            log.parent.mkdir(exist_ok=True)
            replace_link(log)
            with open(log, "wb" if fresh else "ab") as file:
                if step.call is not None:
                    step.call()
                for number, command in enumerate(step.commands, start=1):
                    more = step.late() if step.late and number == len(step.commands) else ()
                    self._command(step, [*command, *more], file, (*self._locks, held))
            stamp.finish()
            mine.unlink()

    def _command(
        self, step: Step, command: Sequence[str], log: IO[bytes], locks: Sequence[int]
    ) -> None:
        # The locks travel with the child: if this process is killed, nobody else can start in the
        # folder until the child has ended too.
        with open(os.devnull) as nothing:
            streams = (nothing.fileno(), log.fileno(), log.fileno())
            program = find_program(command[0])
            process = fork([program[-1], *command[1:]], self._env, (*streams, *locks))
            if process is None:
                process = subprocess.Popen(
                    [*program, *command[1:]],
                    stdin=nothing,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    pass_fds=locks,
                )
        self._running[step.name] = process
        if self._stopping.is_set():
            process.terminate()
        status = process.wait()
        del self._running[step.name]
        if status and not self._stopping.is_set():
            raise StepFailed(
                f"step {step.name!r} failed with exit status {status}; its log is {log.name}; "
                "run the same command again to resume from here",
                killed=status < 0 or status > 128,  # the second as a shell says it
            )
        if status:
            raise UserError(f"step {step.name!r} was stopped")

    def stop(self) -> None:
        self._stopping.set()
        for process in list(self._running.values()):
            process.terminate()
