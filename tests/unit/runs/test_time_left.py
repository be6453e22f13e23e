from pathlib import Path

import pytest

from fairseq_xling.runs.step import Step
from fairseq_xling.runs.time_left import TimeLeft


def step(name, effort, reads=()):
    files = [Path(f"{one}.txt") for one in reads]
    return Step(name, commands=[["x"]], effort=effort, inputs=files, outputs=[Path(f"{name}.txt")])


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_nothing_is_said_where_no_step_says_what_it_takes():
    assert TimeLeft([step("a", 0), step("b", 0)], jobs=1).seconds() is None
    assert TimeLeft([], jobs=2).seconds() is None


def test_steps_share_the_jobs_unless_they_wait_for_each_other():
    steps = [step("a", 60), step("b", 60)]
    assert TimeLeft(steps, jobs=1).seconds() == 120
    assert TimeLeft(steps, jobs=2).seconds() == 60
    assert TimeLeft([step("a", 60), step("b", 60, reads="a")], jobs=2).seconds() == 120


def test_what_has_run_of_a_step_is_taken_off():
    clock = Clock()
    left = TimeLeft([step("a", 60)], jobs=1, now=clock)
    left.begin("a")
    clock.now = 40
    assert left.seconds() == pytest.approx(20)


def test_a_slower_machine_is_noticed_by_the_steps_that_ended():
    clock = Clock()
    left = TimeLeft([step("a", 100), step("b", 100)], jobs=1, now=clock)
    left.begin("a")
    clock.now = 220
    left.end("a")
    assert left.seconds() == pytest.approx(200)  # (220 + 20) / (100 + 20) times as slow


def test_a_step_that_runs_for_too_long_is_never_at_its_end():
    clock = Clock()
    left = TimeLeft([step("a", 10)], jobs=1, now=clock)
    left.begin("a")
    found = []
    for clock.now in (5, 20, 40, 80):
        found.append(left.seconds())
    assert all(seconds > 0 for seconds in found)
    assert found[-1] < found[0]
