"""Steps as jobs, with programs that stand for Slurm's; tests/slurm has the real ones."""

import functools
import io
import json
import signal
import sys
import time

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.workflow.display import Display
from fairseq_xling.workflow.launchers.slurm import Slurm, SlurmOptions, StepJob
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Step, appears
from tests.slurm_stand_in import write_stand_in

pytest.importorskip("submitit")

# What a job calls: it plans the same steps and carries out one.
STUDY = """
import json, sys
from pathlib import Path
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Step
run = Path(sys.argv[1])
steps = [
    Step(name, [["sh", "-c", script]], inputs=[run / one for one in inputs], outputs=[run / name],
         resumable=resumable)
    for name, script, inputs, resumable in json.loads(Path(sys.argv[2]).read_text())
]
Runner(run, steps).run_one(sys.argv[3])
"""


class Study:
    """Steps of shell in ``run``, and what carries them out on Slurm or here."""

    def __init__(self, root, *steps):
        self.run, self.root, self.screen = root / "run", root, io.StringIO()
        self.plan = [
            [name, script.format(run=self.run), inputs, resumable]
            for name, script, inputs, resumable in steps
        ]
        (root / "study.py").write_text(STUDY)
        (root / "plan.json").write_text(json.dumps(self.plan))

    def runner(self, **how):
        steps = [
            Step(
                name,
                [["sh", "-c", script]],
                inputs=[self.run / one for one in inputs],
                outputs=[self.run / name],
                resumable=resumable,
            )
            for name, script, inputs, resumable in self.plan
        ]
        return Runner(self.run, steps, display=Display(self.screen, every=0.5), **how)

    def launch(self):
        """Carry all out on Slurm; returns what was printed."""
        command = [sys.executable, *(str(self.root / x) for x in ("study.py", "run", "plan.json"))]
        launcher = functools.partial(
            Slurm,
            values=SlurmOptions(poll_s=1, partition="tests"),
            command=lambda name: [*command, name],
        )
        self.runner(launcher=launcher).run()
        return self.screen.getvalue()


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """The folder of the programs that stand for Slurm's."""
    import submitit

    folder = tmp_path / "slurm"
    for name in ("_LOOK_S", "_ENDING_S"):
        monkeypatch.setattr(f"fairseq_xling.workflow.launchers.slurm.{name}", 0.1)
    submitit.SlurmJob.watcher.clear()  # it remembers jobs of other tests, with the same numbers
    monkeypatch.setenv("PATH", write_stand_in(folder)["PATH"])
    return folder


class Screen(io.StringIO):
    """Makes the file ``seen`` once all of ``words`` have been printed."""

    def __init__(self, seen, *words):
        super().__init__()
        self._seen, self._words = seen, words

    def write(self, text):
        written = super().write(text)
        if all(word in self.getvalue() for word in self._words):
            self._seen.touch()
        return written


WAIT = "for i in $(seq 300); do test -e {run}/../{0} && break; sleep 0.1; done"


def test_steps_are_jobs_that_run_at_the_same_time_and_their_stamps_hold_here(slurm, tmp_path):
    def met(one, other):
        waits = [WAIT.replace("{0}", file) for file in (other, "seen")]
        return "; ".join([f"touch {{run}}/../{one}", *waits, f"echo {one} > {{run}}/{one}"])

    study = Study(
        tmp_path,
        ("a", met("a", "b"), [], False),
        ("b", met("b", "a"), [], False),
        ("c", "cat {run}/a {run}/b > {run}/c", ["a", "b"], False),
    )
    study.screen = Screen(tmp_path / "seen", "job 1 on node7", "job 2 on node7")
    printed = study.launch()
    assert (study.run / "c").read_text() == "a\nb\n"
    assert (tmp_path / "seen").exists()
    assert printed.index("[3/3] c ...") > max(printed.index(f"{x}: done in") for x in "ab")
    study.runner().run()
    assert study.screen.getvalue().count("done before in") == 3


def test_a_job_that_is_cancelled_is_requeued_and_resumes(slurm, tmp_path):
    script = (
        "echo line >> {run}/a; test $(wc -l < {run}/a) = 2 || "
        "{{ scancel $SLURM_JOB_ID; sleep 30; }}"
    )
    study = Study(tmp_path, ("a", script, [], True))
    printed = study.launch()
    assert (study.run / "a").read_text() == "line\n" * 2
    assert "step 'a': job 1 ended as CANCELLED by 0, requeued" in printed


def test_after_three_requeues_it_gives_up(slurm, tmp_path):
    study = Study(tmp_path, ("a", "scancel $SLURM_JOB_ID; sleep 30", [], True))
    with pytest.raises(UserError, match="step 'a': job 4 ended as CANCELLED by 0, after 3 requeue"):
        study.launch()
    assert study.screen.getvalue().count("requeued") == 3


def test_a_program_that_fails_shows_its_log_and_is_not_requeued(slurm, tmp_path):
    study = Study(tmp_path, ("a", "echo reason >&2; exit 3", [], True))
    with pytest.raises(UserError, match=r"step 'a' failed with exit status 3; its log is .*/a.log"):
        study.launch()
    assert "a: FAILED\n  | reason\n" in study.screen.getvalue()
    assert (slurm / "last").read_text() == "1\n"


def test_jobs_outlive_ctrl_c_and_the_next_command_follows_them(slurm, tmp_path, monkeypatch):
    wait = "echo once >> {run}/a; while ! test -e {run}/../go; do sleep 0.1; done"
    study = Study(tmp_path, ("a", wait, [], True))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Slurm, "_follow", _after_begin(study.run / "a", interrupt, Slurm._follow))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            study.launch()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert "jobs live on: 1 (a); `scancel 1` ends them" in study.screen.getvalue()
    assert (slurm / "1.state").read_text() == "RUNNING\n"
    monkeypatch.undo()
    monkeypatch.setenv("PATH", f"{slurm}:/usr/bin:/bin")
    with pytest.raises(UserError, match="step 'a' is being carried out by another process, here"):
        study.runner().run()
    # The job may not end before the command has begun to follow it.
    study.screen = Screen(tmp_path / "go", "job 1 on node7")
    assert "a: done in" in study.launch()
    assert (study.run / "a").read_text() == "once\n" and (slurm / "last").read_text() == "1\n"


def _after_begin(there, interrupt, follow):
    """`Slurm._follow` that has the main thread interrupted as soon as a file is there."""

    def wrapped(self, stamp, job):
        while not there.exists():
            pass
        signal.raise_signal(signal.SIGALRM)
        return follow(self, stamp, job)

    return wrapped


def test_other_settings_do_not_follow_a_job_of_the_former(slurm, tmp_path):
    study = Study(tmp_path, ("a", "echo x > {run}/a", [], False))
    study.launch()
    while (slurm / "1.state").read_text() == "RUNNING\n":  # its last moments
        time.sleep(0.05)
    (slurm / "1.state").write_text("RUNNING\n")
    other = Study(tmp_path, ("a", "echo y > {run}/a", [], False))
    with pytest.raises(UserError, match="with other settings by job 1; `scancel 1` ends it"):
        other.launch()


def test_a_node_that_does_not_see_the_folder_is_named_as_the_reason(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.workflow.launchers.slurm.appears", lambda there: there())
    (slurm / "blind").touch()
    study = Study(tmp_path, ("a", "true", [], False))
    message = r"job 1 ended as FAILED before the step began, and left no log in \S+/\.jobs; its no"
    with pytest.raises(UserError, match=message):
        study.launch()


@pytest.mark.slow
def test_what_stops_a_job_before_its_step_is_shown(slurm, tmp_path, monkeypatch):
    soon = functools.partial(appears, seconds=0.5)  # the stamp will not come
    monkeypatch.setattr("fairseq_xling.workflow.launchers.slurm.appears", soon)
    study = Study(tmp_path, ("a", "true", [], False))
    (tmp_path / "study.py").write_text("import sys; sys.exit('fairseq-xling: error: no text here')")
    with pytest.raises(UserError, match="FAILED before the step began: no text here"):
        study.launch()


def test_what_sbatch_refuses_is_one_line(slurm, tmp_path):
    (slurm / "refuse").write_text("sbatch: error: invalid account\n")
    with pytest.raises(UserError, match=r"sbatch refuses step 'a': .*sbatch: error: invalid acc"):
        Study(tmp_path, ("a", "true", [], False)).launch()


@pytest.mark.parametrize("program", ["sbatch", "sacct"])
def test_without_slurm_nothing_is_begun(slurm, tmp_path, monkeypatch, program):
    (slurm / program).unlink()
    monkeypatch.setenv("PATH", str(slurm))
    study = Study(tmp_path, ("a", "true", [], False))
    (slurm / "sh").symlink_to("/bin/sh")
    with pytest.raises(UserError, match=f"needs Slurm's programs, and there is no {program} on P"):
        study.launch()
    assert not study.run.exists()


def test_without_accounting_an_unknown_partition_or_submitit_it_says_so(
    slurm, tmp_path, monkeypatch
):
    study = Study(tmp_path, ("a", "true", [], False))
    (slurm / "closed").touch()
    with pytest.raises(UserError, match="sacct fails: Slurm accounting storage is disabled"):
        study.launch()
    (slurm / "closed").unlink()
    (slurm / "sinfo").write_text("#!/bin/sh\necho gpu\n")
    with pytest.raises(UserError, match="unknown partition 'tests'; known: gpu"):
        study.launch()
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(
        UserError, match=r"needs the library submitit: pip install 'fairseq_xling\[cluster\]'"
    ):
        study.launch()


def test_a_job_asks_for_what_its_step_needs(slurm, tmp_path):
    values = SlurmOptions(gpus_per_node=4, cpus_per_task=8, mem_gb=32, timeout_min=60)
    launcher = Slurm(tmp_path, 1, print, values)
    launcher.check([])

    def asked(step):
        found = launcher._executor(step).parameters
        return [found.get(name) for name in ("gpus_per_node", "cpus_per_task", "mem", "time")]

    train = ["fairseq-train", "data"]
    assert asked(Step("all", [train])) == [4, 8, "32GB", 60]
    assert asked(Step("two", [[*train, "--distributed-world-size", "2"]])) == [2, 8, "32GB", 60]
    assert asked(Step("cpu", [[*train, "--cpu"]])) == [None, 8, "32GB", 60]
    assert asked(Step("table", call=print)) == [None, 1, "32GB", 60]
    assert asked(Step("test", call=print, device="cuda")) == [1, 8, "32GB", 60]


def test_a_job_is_requeued_by_submitit_until_it_has_begun_often_enough(tmp_path):
    stamp = tmp_path / "a.json"
    job = StepJob(["true"], stamp, last=4)
    stamp.write_text('{"begun": 3}')
    assert job.checkpoint().function is job
    stamp.write_text('{"begun": 4}')
    assert job.checkpoint() is None
