import importlib.util
import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive
from fairseq_xling.workflow.commands import find_program
from fairseq_xling.workflow.display import Display, TimeLeft
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Plan, Stamp, Step
from tests.planned_steps import digests


def shell(name, script, **options):
    return Step(name, commands=[["sh", "-c", script]], **options)


def go(folder, steps, **options):
    screen = io.StringIO()
    runner = Runner(folder, steps, display=Display(screen, every=0.0), **options)
    try:
        runner.run()
    finally:
        go.screen = screen.getvalue()
    return screen.getvalue()


def chain(run):
    """Two steps that count how often they ran: b doubles what a wrote."""
    a, b, once = run / "a.txt", run / "b.txt", f"echo once >> {run.parent}"
    return [
        shell("a", f"{once}/a.count; echo text > {a}", outputs=[a]),
        shell("b", f"{once}/b.count; cat {a} {a} > {b}", inputs=[a], outputs=[b]),
    ]


def count(run, name):
    return len((run.parent / f"{name}.count").read_text().split())


def test_steps_run_once_and_are_skipped_afterwards(tmp_path):
    run = tmp_path / "run"
    first = go(run, chain(run))
    assert (run / "b.txt").read_text() == "text\ntext\n"
    assert "[2/2] b: done in" in first
    second = go(run, chain(run))
    assert "[1/2] a: done before" in second
    assert (count(run, "a"), count(run, "b")) == (1, 1)


def test_a_file_from_outside_is_read_once_for_a_run(tmp_path, monkeypatch):
    text, read = tmp_path / "text", []
    text.write_text("a")
    monkeypatch.setattr("fairseq_xling.workflow.step.sha256", lambda path: read.append(path) or "x")
    go(tmp_path / "run", [shell("a", "true", inputs=[text]), shell("b", "true", inputs=[text])])
    assert read == [text]


def test_only_what_depends_on_a_change_runs_again(tmp_path):
    run = tmp_path / "run"
    go(run, chain(run))
    (run / "b.txt").unlink()
    go(run, chain(run))
    assert (count(run, "a"), count(run, "b")) == (1, 2)
    (run / "a.txt").write_text("spoilt")
    go(run, chain(run))
    assert (count(run, "a"), count(run, "b")) == (2, 2)  # a made again what b already used


def test_a_failed_step_shows_the_end_of_its_log_and_the_next_call_goes_on(tmp_path):
    run = tmp_path / "run"
    good = chain(run)[0]
    bad = shell("bad", f"seq 40; echo reason >&2; test -e {tmp_path}/now")
    with pytest.raises(UserError, match=r"step 'bad' failed with exit status 1; its log is .*bad"):
        go(run, [good, bad])
    assert "| reason" in go.screen
    assert "| 39" in go.screen
    assert "| 12\n" not in go.screen  # only the last lines
    assert (run / "logs" / "bad.log").read_text().endswith("reason\n")
    (tmp_path / "now").touch()
    go(run, [good, bad])
    assert count(run, "a") == 1


def test_steps_that_do_not_depend_run_at_the_same_time(tmp_path):
    run = tmp_path / "run"
    meet = "touch {0}; for i in $(seq 100); do test -e {1} && exit 0; sleep 0.1; done; exit 1"
    steps = [
        shell("a", meet.format(tmp_path / "a", tmp_path / "b")),
        shell("b", meet.format(tmp_path / "b", tmp_path / "a")),
    ]
    assert go(run, steps, jobs=2).count("done in") == 2


def test_a_step_waits_for_its_inputs_with_many_jobs(tmp_path):
    run = tmp_path / "run"
    steps = chain(run)
    slow = shell("a", f"sleep 0.5; echo late > {run}/a.txt", outputs=[run / "a.txt"])
    go(run, [slow, shell("b", f"cp {run}/a.txt {run}/b.txt", inputs=steps[1].inputs)], jobs=4)
    assert (run / "b.txt").read_text() == "late\n"


def test_late_arguments_are_asked_for_when_the_inputs_are_there(tmp_path):
    run = tmp_path / "run"
    first, second = chain(run)
    script = f"echo $0 > {run}/c.txt"
    late = Step(
        "c", [["true"], ["sh", "-c", script]], inputs=[run / "b.txt"], outputs=[run / "c.txt"],
        late=lambda: [(run / "b.txt").read_text().split()[0]],
    )  # fmt: skip
    go(run, [first, second, late])
    assert (run / "c.txt").read_text() == "text\n"
    assert "c: done before" in go(run, [first, second, late])


def test_commands_sh_repeats_the_run(tmp_path):
    run = tmp_path / "run"
    steps = chain(run)
    go(run, steps)
    (run / "a.txt").unlink()
    (run / "b.txt").unlink()
    subprocess.run(["bash", str(run / "commands.sh")], check=True)
    assert (run / "b.txt").read_text() == "text\ntext\n"


def test_commands_and_a_dry_run_name_the_folders_of_own_code(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRSEQ_XLING_USER_DIR", str(tmp_path / "my own"))
    told = f"export FAIRSEQ_XLING_USER_DIR='{tmp_path}/my own'"
    run = tmp_path / "run"
    go(run, [shell("a", f"echo $FAIRSEQ_XLING_USER_DIR > {run}/a", outputs=[run / "a"])])
    assert told in (run / "commands.sh").read_text().splitlines()
    assert (run / "a").read_text() == f"{tmp_path}/my own\n"
    screen = io.StringIO()
    Runner(run, chain(run), display=Display(screen, every=0.0)).print_plan()
    assert screen.getvalue().startswith(f"{told}\n[1/2] a: run")


def test_a_run_that_cannot_be_is_refused(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="`--only-step`: unknown step 'c'; known: a, b"):
        Runner(tmp_path, chain(tmp_path)).run_one("c")
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "steps=2")
    with pytest.raises(UserError, match="must be at most 2 steps in the plan of a run, got 3"):
        Runner(tmp_path, [shell(f"s{number}", "true") for number in range(3)])


def test_a_missing_program_of_a_later_step_is_found_before_anything_runs(tmp_path):
    run = tmp_path / "run"
    later = Step("late", commands=[["no-such-program"]], inputs=[run / "b.txt"])
    with pytest.raises(UserError, match="no-such-program: no such program"):
        go(run, [*chain(run), later])
    assert not run.exists()


def test_without_the_engine_its_programs_are_explained_by_the_step_that_installs_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"install it with: pip install .*--no-deps fairseq-fixed"):
        go(tmp_path / "run", [Step("a", commands=[["fairseq-no-such-program"]])])


def test_programs_of_the_engine_are_run_as_they_are_but_begin_sooner(tmp_path):
    program = tmp_path / "fairseq-shout"
    program.write_text(
        "import sys\n"
        "import fairseq\n"
        "print(*sys.argv, __name__, 'sklearn' in sys.modules)\n"
        "sys.exit(3)\n"
    )
    begin = find_program("fairseq-train")
    assert begin[-1].endswith("/fairseq-train")
    command = [*begin[:-1], str(program), "--loud", "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == [str(program), "--loud", "x", "__main__", "False"]
    assert done.returncode == 3


def test_progress_of_a_running_step_is_shown(tmp_path):
    step = shell("slow", "echo 41 percent; sleep 1.5", progress=lambda log: log.read_text().strip())
    assert "[1/1] slow: 1 s, 41 percent" in go(tmp_path / "run", [step])


SCRIPT = """
import sys
from pathlib import Path
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Step
run = Path(sys.argv[1])
script = f"for i in $(seq 30); do echo line >> {run}/out; sleep 0.1; done"
step = Step("long", commands=[["sh", "-c", script]], outputs=[run / "out"], resumable=True)
Runner(run, [step]).run()
"""


@pytest.mark.slow
def test_a_killed_run_leaves_a_lock_until_its_child_ends_and_then_goes_on(tmp_path):
    run = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(run)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (run / "out").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(UserError, match="another command is using this folder"):
        go(run, [shell("x", "true")])
    time.sleep(4)
    kept = len((run / "out").read_text().split())
    subprocess.run([sys.executable, "-c", SCRIPT, str(run)], check=True, capture_output=True)
    lines = (Path(run) / "out").read_text().split()
    assert len(lines) == kept + 30  # resumable: what was there stayed


def test_one_step_alone_needs_those_before_it_and_leaves_the_same_stamp(tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.workflow.runner.appears", lambda there: there())
    run = tmp_path / "run"
    with pytest.raises(UserError, match="step 'b' needs step 'a', which is not done"):
        Runner(run, chain(run)).run_one("b")
    for name in "ab":
        Runner(run, chain(run)).run_one(name)
    assert (run / "b.txt").read_text() == "text\ntext\n"
    assert go(run, chain(run)).count("done before") == 2
    Runner(run, chain(run)).run_one("b")
    assert (count(run, "a"), count(run, "b")) == (1, 1)


@pytest.mark.parametrize("script, noted", [("exit 2", "step 'a' failed with"), ("kill -9 $$", "")])
def test_a_failure_is_noted_for_those_who_wait_elsewhere_and_a_kill_is_not(tmp_path, script, noted):
    steps = [shell("a", script)]
    with pytest.raises(UserError, match="failed with exit status"):
        Runner(tmp_path, steps).run_one("a")
    stamp = Stamp(tmp_path, steps[0], digests(steps)["a"])
    assert stamp.failure().startswith(noted) and bool(stamp.failure()) == bool(noted)
    assert stamp.begun() == 1 and stamp.state() == "new"


def test_a_step_that_another_process_carries_out_is_left_alone(tmp_path):
    steps = [shell("a", f"echo x > {tmp_path}/a", outputs=[tmp_path / "a"])]
    stamp = Stamp(tmp_path, steps[0], digests(steps)["a"])
    stamp.begin()
    stamp.path.with_suffix(".lock").touch()
    before = stamp.path.read_bytes()
    with exclusive(stamp.path.with_suffix(".lock"), "taken"):
        for carry_out in (
            Runner(tmp_path, steps).run,
            lambda: Runner(tmp_path, steps).run_one("a"),
        ):
            with pytest.raises(UserError, match="step 'a' is being carried out by another process"):
                carry_out()
    assert stamp.path.read_bytes() == before
    assert "done in" in go(tmp_path, steps)


def test_steps_for_a_gpu_are_refused_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.engine.devices.usable_device", refuse)
    steps = [*chain(tmp_path / "run"), Step("test", call=print, device="cuda")]
    with pytest.raises(UserError, match="no cuda here"):
        go(tmp_path / "run", steps)
    assert not (tmp_path / "run").exists()
    Runner(tmp_path / "run", steps).run_one("a")  # which needs none


def refuse(device):
    raise UserError(f"no {device} here")


def test_no_link_of_a_received_run_is_written_through(tmp_path):
    run, victim = tmp_path / "run", tmp_path / "bashrc"
    (run / "logs").mkdir(parents=True)
    (run / ".steps").mkdir()
    victim.write_text("precious")
    for name in ("commands.sh", "logs/a.log", ".steps/a.json", ".steps/b.lock", "a.txt"):
        (run / name).symlink_to(victim)
    (run / "logs" / "b.log").symlink_to(tmp_path / "new")
    go(run, chain(run))
    assert victim.read_text() == "precious" and not (tmp_path / "new").exists()
    assert (run / "b.txt").read_text() == "text\ntext\n"


def test_a_run_continues_in_folders_on_another_disk(tmp_path):
    run = tmp_path / "run"
    for name in ("logs", ".steps"):
        (tmp_path / "disk" / name).mkdir(parents=True)
        run.mkdir(exist_ok=True)
        (run / name).symlink_to(tmp_path / "disk" / name)
    go(run, chain(run))
    assert "a: done before" in go(run, chain(run))
    assert (tmp_path / "disk" / "logs" / "a.log").exists()


def test_a_log_that_is_a_link_is_continued_as_a_copy(tmp_path):
    run, log = tmp_path / "run", tmp_path / "run" / "logs" / "a.log"
    step = shell("a", f"echo more; touch {run}/a", outputs=[run / "a"], resumable=True)
    log.parent.mkdir(parents=True)
    (tmp_path / "moved").write_text("begun\n")
    log.symlink_to(tmp_path / "moved")
    Stamp(run, step, digests([step])["a"]).begin()
    go(run, [step])
    assert log.read_text() == "begun\nmore\n" and not log.is_symlink()
    assert (tmp_path / "moved").read_text() == "begun\n"


def test_a_run_does_not_remove_what_it_reads_from_outside(tmp_path):
    run = tmp_path / "run"
    (run / "data").mkdir(parents=True)
    (run / "data" / "text").write_text("precious")
    (tmp_path / "link").symlink_to(run / "data" / "text")
    steps = [
        Step("use", [["true"]], inputs=[tmp_path / "link"]),
        Step("make", [["true"]], outputs=[run / "data"]),
    ]
    with pytest.raises(UserError, match=r"'use' reads .*link, which step 'make' of this run would"):
        go(run, steps)
    assert (run / "data" / "text").read_text() == "precious"


def timed(name, effort, reads=()):
    files = [Path(f"{one}.txt") for one in reads]
    return Step(name, commands=[["x"]], effort=effort, inputs=files, outputs=[Path(f"{name}.txt")])


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def time_left(steps, jobs, **clock):
    return TimeLeft(steps, jobs, Plan(steps).before, **clock)


def after_one(steps, jobs, took=100):
    """What is left of ``steps`` once another one ended, which was to take 100 seconds."""
    clock = Clock()
    left = time_left([timed("first", 100), *steps], jobs, now=clock)
    left.begin("first")
    clock.now = took
    left.end("first")
    return left, clock


def test_nothing_is_said_without_effort_and_before_there_is_a_pace():
    assert time_left([timed("a", 0), timed("b", 0)], jobs=1).seconds() is None
    assert time_left([], jobs=2).seconds() is None
    left = time_left([timed("a", 60)], jobs=1, now=(clock := Clock()))
    left.begin("a")
    clock.now = 40
    assert left.seconds() is None


def test_steps_share_the_jobs_unless_they_wait_for_each_other():
    steps = [timed("a", 60), timed("b", 60)]
    for jobs, expected in ((1, 120), (2, 60)):
        assert after_one(steps, jobs)[0].seconds() == pytest.approx(expected)
    steps = [timed("a", 60), timed("b", 60, reads="a")]
    assert after_one(steps, 2)[0].seconds() == pytest.approx(120)
    slow, _ = after_one([timed("b", 100)], 1, took=220)  # as the first step showed
    assert slow.seconds() == pytest.approx(100 * 222 / 102)


def test_what_has_run_of_a_step_is_taken_off():
    left, clock = after_one([timed("a", 60)], 1)
    left.begin("a")
    clock.now += 40
    assert left.seconds() == pytest.approx(20)


def test_a_step_that_runs_for_too_long_is_never_at_its_end():
    clock = Clock()
    left = time_left([timed("a", 10)], jobs=1, now=clock)
    left.begin("a")
    found = []
    for clock.now in (11, 20, 40):
        found.append(left.seconds())
    assert all(seconds > 0 for seconds in found)
