"""Steps as jobs of a Slurm cluster, by `submitit`.

A job is the command that planned the run, with `--only-step`: it plans again on its node, which has
to see the run's folder, and carries out one step. Jobs live on when the command ends; started again
it follows them. What was killed, preempted or out of time is submitted again and resumes.
"""

import dataclasses
import functools
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.core.extras import needed_by
from fairseq_xling.core.files import read_record, write_json
from fairseq_xling.core.options import option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.workflow.commands import find_program
from fairseq_xling.workflow.forking import OFF, VARIABLE
from fairseq_xling.workflow.launchers import LAUNCHERS, Launcher, StepFailed
from fairseq_xling.workflow.step import Stamp, Step, appears, gpus_of, read_stamp

_PROGRAMS = ("sbatch", "srun", "squeue", "sinfo", "scancel", "sacct")
_ALIVE = ("PENDING", "RUNNING", "REQUEUED", "COMPLETING", "CONFIGURING", "SUSPENDED", "RESIZING")
_WORDS = ("partition", "account", "qos", "constraint")
_REQUEUES = 3
_ENTRIES = {"id": str, "digest": str, "begun": int, "tries": int, "last": int}  # of a job's record
_LOOK_S = 0.5  # seconds between two looks whether a job has done its step
_ENDING_S = 1.0  # the same, whether the last process of one that has ended is gone


@dataclasses.dataclass(frozen=True)
class SlurmOptions:
    """What jobs ask for; the first four are Slurm's own words."""

    partition: str = option("", "partition of the jobs (default: the cluster's)")
    account: str = option("", "account that is charged")
    qos: str = option("", "quality of service")
    constraint: str = option("", "features that nodes must have")
    timeout_min: int = option(1440, "minutes after which a job is requeued", least=1)
    signal_delay_s: int = option(90, "seconds before that in which it is", least=1)
    gpus_per_node: int = option(1, "GPUs of a training that names no number", least=1)
    cpus_per_task: int = option(1, "cores of a job, and its threads; a table has one", least=1)
    mem_gb: int = option(0, "memory of a job; 0 is the cluster's default", least=0)
    setup: tuple = option((), "lines of shell before each job's program")
    max_jobs: int = option(100, "jobs at the same time, waiting ones included", least=1)
    poll_s: int = option(15, "seconds between two questions to sacct", least=1)


@dataclasses.dataclass
class StepJob:
    """What submitit calls on the node: a step's command, which is requeued until its ``stamp`` says
    that it has begun ``last`` times."""

    command: list[str]
    stamp: Path
    last: int

    def __call__(self) -> None:
        env = {**os.environ, VARIABLE: OFF}  # a server of the command's is no part of the job
        env.setdefault("OMP_NUM_THREADS", env.get("SLURM_CPUS_PER_TASK", "1"))
        # Slurm's signal before the end is for submitit; the program works until it is killed.
        ignore = functools.partial(signal.signal, signal.SIGUSR2, signal.SIG_IGN)
        subprocess.run(self.command, env=env, preexec_fn=ignore, check=True)

    def checkpoint(self) -> Any:
        """What submitit requeues before the end of the job's time, or None for nothing."""
        from submitit.helpers import DelayedSubmission

        begun = read_stamp(self.stamp).get("begun", 0)
        return DelayedSubmission(self) if begun < self.last else None


@LAUNCHERS.register("slurm")
class Slurm(Launcher):
    """Each step in a job of its own, as soon as those before it are done."""

    options = SlurmOptions

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.limit = self.values.max_jobs
        self._jobs: dict[str, Any] = {}
        self._asked, self._lock, self._stopping = 0.0, threading.Lock(), threading.Event()
        self._folder = (self.folder / ".jobs").resolve()  # a record of each step's job

    def check(self, steps: Sequence[Step]) -> None:
        with needed_by("`--launcher slurm`"):
            import submitit
        self._submitit = submitit
        for program in _PROGRAMS:
            if shutil.which(program) is None:
                raise UserError(
                    f"`--launcher slurm` needs Slurm's programs, and there is no {program} on PATH"
                )
        asked = _ask("sacct", "-Xno", "JobID")
        if asked.returncode:
            raise UserError(
                f"`--launcher slurm` needs Slurm's accounting, and sacct fails: {asked.stderr}"
            )
        known = _ask("sinfo", "-ho", "%R").stdout.split()
        for name in filter(None, self.values.partition.split(",")):
            if known and name not in known:
                found = unknown_name("partition", name, sorted(set(known)))
                raise UserError(f"`--launcher-args`: {found}")

    def carry_out(self, step: Step, stamp: Stamp) -> None:
        self._folder.mkdir(exist_ok=True)
        record = self._kept(step, stamp) or self._submit(step, stamp)
        while True:
            job = self._jobs[step.name]
            state = self._follow(stamp, job)
            if self._stopping.is_set():
                raise UserError(f"step {step.name!r} was left to job {job.job_id}")
            del self._jobs[step.name]
            if stamp.state() == "done":
                return
            began, log = stamp.begun() > record["begun"], job.paths.stderr
            if began and (message := stamp.failure()):
                raise StepFailed(message)
            ended = f"step {step.name!r}: job {job.job_id} ended as {state}"
            if not began and state.startswith(("COMPLETED", "FAILED")):
                raise UserError(f"{ended} before the step began{self._why(log)}")
            if record["tries"] > _REQUEUES or stamp.begun() >= record["last"]:
                raise UserError(f"{ended}, after {_REQUEUES} requeues; the job's log is {log}")
            self.say(f"{ended}, requeued")
            record = self._submit(step, stamp, record)

    def _kept(self, step: Step, stamp: Stamp) -> dict[str, Any] | None:
        """The record of the job that an earlier command submitted, if it lives."""
        record = read_record(self._folder / f"{step.name}.json", _ENTRIES)
        if len(record) < len(_ENTRIES) or self._gone(record["id"]):
            return None
        if record["digest"] != stamp.digest:
            raise UserError(
                f"step {step.name!r} is carried out with other settings by job {record['id']}; "
                f"`scancel {record['id']}` ends it"
            )
        self._jobs[step.name] = self._submitit.SlurmJob(self._folder, record["id"])
        return record

    def _submit(
        self, step: Step, stamp: Stamp, before: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        record = dict(before or {"tries": 0, "last": stamp.begun() + 1 + _REQUEUES})
        program, *words = self.command(step.name)
        job = StepJob([*find_program(program), *words], stamp.path, record["last"])
        record |= {"digest": stamp.digest, "begun": stamp.begun(), "tries": record["tries"] + 1}
        with self._lock:
            try:
                self._jobs[step.name] = self._executor(step).submit(job)
            except self._submitit.core.utils.FailedJobError as error:
                raise UserError(f"sbatch refuses step {step.name!r}: {error}") from None
            record["id"] = self._jobs[step.name].job_id
            write_json(self._folder / f"{step.name}.json", record)
        return record

    def _executor(self, step: Step) -> Any:
        """An executor of jobs with what ``step`` needs."""
        values, gpus = self.values, gpus_of(step)
        cores = 1 if step.call and not gpus else values.cpus_per_task
        slurm = {
            **{f"slurm_{name}": getattr(values, name) for name in _WORDS if getattr(values, name)},
            "slurm_signal_delay_s": values.signal_delay_s,
            "slurm_setup": list(values.setup),
            "slurm_srun_args": [f"--cpus-per-task={cores}"],  # srun does not ask sbatch for it
            **({"mem_gb": values.mem_gb} if values.mem_gb else {}),
            **({"gpus_per_node": values.gpus_per_node if gpus < 0 else gpus} if gpus else {}),
        }
        executor = self._submitit.AutoExecutor(
            self._folder, cluster="slurm", slurm_max_num_timeout=_REQUEUES
        )
        executor.update_parameters(
            name=step.name, timeout_min=values.timeout_min, cpus_per_task=cores, **slurm
        )
        return executor

    def _follow(self, stamp: Stamp, job: Any) -> str:
        """Wait until the step is done or the job has ended; returns the job's state."""
        while not self._stopping.wait(_LOOK_S) and stamp.state() != "done":
            state = self._state(job)
            if _lives(state) and (state or not self._gone(job.job_id)):
                continue
            while not (self._gone(job.job_id) or self._stopping.wait(_ENDING_S)):
                continue  # its last process may still write
            appears(lambda: not _lives(self._state(job, now=True)))  # the accounting lags behind
            state = self._state(job)
            if state in ("COMPLETED", "FAILED"):
                appears(lambda: stamp.state() == "done" or stamp.failure())
            return state or "unknown"
        return ""

    def _state(self, job: Any, now: bool = False) -> str:
        """The job's state, by sacct asked `poll_s` seconds ago at most; empty if it has none."""
        with self._lock:
            due = now or time.monotonic() - self._asked > self.values.poll_s
            self._asked = time.monotonic() if due else self._asked
            return job.get_info(mode="force" if due else "cache").get("State", "")

    def _gone(self, job_id: str) -> bool:
        """Whether Slurm has no such job, or no process of it any more."""
        asked = _ask("squeue", "-ho", "%T", "-j", job_id)
        return "Invalid job id" in asked.stderr if asked.returncode else not asked.stdout.strip()

    def _why(self, log: Path) -> str:
        """Why a job with this log has ended before its step began."""
        if not appears(log.exists):
            return f", and left no log in {self._folder}; its node must see that folder"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in lines if line.startswith("fairseq-xling: error: ")]
        return f": {program_error(said[-1]) if said else f'its log is {log}'}"

    def progress(self, step: Step) -> str:
        job = self._jobs.get(step.name)
        if job is None:
            return ""
        with self._lock:
            info = job.get_info(mode="cache")
        if info.get("State") != "RUNNING":
            return f"job {job.job_id} waits ({info.get('State', 'submitted').lower()})"
        words = super().progress(step)
        return f"job {job.job_id} on {info['NodeList']}{words and ', ' + words}"

    def stop(self) -> None:
        self._stopping.set()

    def last_words(self) -> str:
        if not self._jobs:
            return ""
        jobs = ", ".join(f"{job.job_id} ({name})" for name, job in self._jobs.items())
        ids = " ".join(job.job_id for job in self._jobs.values())
        return f"jobs live on: {jobs}; `scancel {ids}` ends them, the same command follows them"


def _lives(state: str) -> bool:
    """Whether a job of this state, such as ``CANCELLED by 0``, may still run, or is unknown yet."""
    return not state or state.split()[0] in _ALIVE


def _ask(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)
