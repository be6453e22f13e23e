"""The machine finds what it is there to find, on programs that do it on purpose."""

import importlib.util
import sys

import pytest

from tests.hostile import checkpoints
from tests.hostile.machine import (
    ACCEPTED,
    CODE,
    GB,
    HANG,
    LEFT,
    LINES,
    MARKER,
    MEMORY,
    REFUSED,
    TRACEBACK,
    UNNAMED,
    Case,
    judge,
    perform,
)
from tests.tiny_world import World

REFUSES = "import sys; sys.exit('fairseq-xling: error: `--size` must be at least 1, got 0')"
PROGRAMS = {
    CODE: f"open({MARKER!r}, 'w')\n{REFUSES}",
    HANG: "while True: pass",
    MEMORY: "held = bytearray(2 << 30)",
    TRACEBACK: "raise KeyError('size')",
    ACCEPTED: "print('done')",
    LEFT: f"open('half', 'w').write('x')\n{REFUSES}",
    UNNAMED: "import sys; sys.exit('fairseq-xling: error: must be at least 1')",
    LINES: "import sys; sys.exit('`--size` must be at least 1\\n\\nand more')",
}


def found(tmp_path, program, seconds=60, **more):
    """What is found wrong with ``program``, in time enough for a machine that is busy."""
    script, here = tmp_path / "program.py", tmp_path / "here"
    script.write_text(program)
    here.mkdir()
    outcome = perform([str(script)], here, GB // 2, seconds=seconds)
    return judge(Case("a case", str(script), names=["--size"], **more), outcome, GB // 2, [])


@pytest.mark.parametrize("kind", PROGRAMS)
def test_what_is_wrong_is_found(kind, tmp_path):
    assert found(tmp_path, PROGRAMS[kind], seconds=1 if kind == HANG else 60)[0] == kind


def test_a_good_refusal_is_one(tmp_path):
    assert found(tmp_path, REFUSES) is None


def test_memory_that_is_only_touched_for_a_moment_is_seen(tmp_path):
    program = f"import time\nheld = bytearray(600 << 20)\ntime.sleep(0.2)\ndel held\n{REFUSES}"
    assert found(tmp_path, program)[0] == MEMORY


def test_what_is_meant_to_be_accepted_must_be(tmp_path):
    assert found(tmp_path, REFUSES, accepted="a reason")[0] == REFUSED


def test_what_does_no_harm_may_be_refused_or_not(tmp_path):
    assert found(tmp_path, REFUSES, either="a reason") is None


def test_a_program_that_ends_well_is_one(tmp_path):
    assert found(tmp_path, "print('done')", accepted="a reason") is None


def test_a_failed_step_of_a_run_is_judged_by_what_it_said(tmp_path):
    said = "print('  | fairseq-xling: error: `--size` must be at least 1')\n"
    last = "import sys; sys.exit(\"fairseq-xling: error: step 'a' failed with exit status 1\")"
    assert found(tmp_path, said + last) is None


def test_two_runs_that_share_a_folder_share_no_files(tmp_path, monkeypatch):
    """One makes and places a file while the other is making its own."""
    spec = importlib.util.spec_from_file_location("another_run", checkpoints.__file__)
    other = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, other)
    spec.loader.exec_module(other)
    world, (here, there) = World(tmp_path / "world"), (tmp_path / "here", tmp_path / "there")
    for folder in (world.root, here, there):
        folder.mkdir()
    (world.root / "lm.pt").write_bytes(b"valid")

    def slow(valid, target):
        other._place("one byte", "lm", world, there)
        target.write_bytes(b"slow")

    monkeypatch.setitem(checkpoints.KINDS, "slow", checkpoints.Kind(slow))
    checkpoints._place("slow", "lm", world, here)
    assert [(f / checkpoints.HOSTILE).read_bytes() for f in (here, there)] == [b"slow", b"\x80"]
