"""Parts of the slow tests: which test is in which, going on, and the warning of old ones."""

import os
import subprocess
import sys
from fnmatch import fnmatchcase

import pytest

from tests import slow_parts
from tests.slow_parts import (
    HEADER,
    PARTS,
    ROOT,
    TABLE,
    part_of,
    read_table,
    warning,
    whose_turn,
    write_line,
)

FILES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]


def test_every_test_that_may_be_slow_is_in_a_part():
    assert not [file for file in FILES if part_of(f"{file}::test") is None]


@pytest.mark.parametrize("pattern", [one for patterns in PARTS.values() for one in patterns])
def test_every_pattern_fits_a_file(pattern):
    assert any(fnmatchcase(file, pattern.split("::")[0]) for file in FILES)


@pytest.mark.parametrize(
    "test, part",
    [
        ("tests/hostile/test_hostile.py::test_hostile_files_are_refused[7]", "hostile-files"),
        ("tests/hostile/test_hostile.py::test_hostile_checkpoints_a[9]", "hostile-checkpoints-1"),
        ("tests/hostile/test_hostile.py::test_hostile_checkpoints_a[29]", "hostile-checkpoints-1"),
        ("tests/hostile/test_hostile.py::test_hostile_checkpoints_a[30]", "hostile-checkpoints-2"),
        ("tests/hostile/test_hostile.py::test_every_call_ends_well", "hostile-options"),
        ("tests/end_to_end/test_trelm_examples.py::test_a", "examples"),
        ("tests/end_to_end/test_trelm.py::test_a[x-y]", "trelm"),
        ("fairseq_xling/core/files.py::doctest", None),
    ],
)
def test_a_test_is_in_the_first_part_that_fits(test, part):
    assert part_of(test) == part


def test_each_part_has_its_turn(monkeypatch):
    commits = map(str, range(100, 100 + len(PARTS)))
    monkeypatch.setattr(slow_parts, "_git", lambda *words: next(commits))
    assert sorted(whose_turn() for _ in PARTS) == sorted(PARTS)


def test_no_part_takes_more_than_an_hour():
    rows = read_table(ROOT / TABLE).values()
    assert not {row["part"]: row["minutes"] for row in rows if float(row["minutes"]) > 60}


TESTS = """
import pytest
@pytest.mark.slow
def test_one(): open("one", "x")
@pytest.mark.slow
def test_two(): assert open("two").read()
@pytest.mark.slow
def test_three(): pytest.skip()
def test_fast(): raise ValueError
"""


def test_a_part_goes_on_where_it_was_and_leaves_a_line(tmp_path):
    def git(*words):
        command = ["git", "-C", tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.check_output([*command, *words], text=True).strip()

    def run():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.slow_parts"]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command += ["-p", "no:cacheprovider", "--slow-part", "kill", "tests"]
        subprocess.run(command, cwd=tmp_path, env=env, capture_output=True)
        line = read_table(tmp_path / TABLE)["kill"]
        return [line[name] for name in ("commit", "passed", "failed", "skipped")]

    (tmp_path / "tests" / "kill").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "tests" / "kill" / "test_kill.py").write_text(TESTS)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "First")
    first = git("rev-parse", "--short", "HEAD")
    assert run() == [first, "1", "1", "1"]
    record = next((tmp_path / "build" / "slow").iterdir())
    with open(record, "a") as file:
        file.write('["tests/kill/test_kill.py::test_two", "pas')  # killed as it wrote
    (tmp_path / "two").write_text("now")
    assert run() == [first, "2", "0", "1"]
    with open(tmp_path / "pytest.ini", "a") as file:
        file.write("# a change\n")
    assert run() == [f"{first}+", "1", "1", "1"]  # all anew: the file of the first is there


def test_a_line_takes_the_place_of_the_last_one(tmp_path):
    for part, failed in (("slurm", 0), ("kill", 1), ("slurm", 2)):
        write_line(tmp_path / "slow.tsv", row(part, failed=failed))
    lines = (tmp_path / "slow.tsv").read_text().splitlines()
    assert lines == ["\t".join(HEADER), "kill\ta1\tm\t3\t1\t0\t1.5", "slurm\ta1\tm\t3\t2\t0\t1.5"]


@pytest.mark.parametrize(
    "changes, age, said",
    [
        ({}, "150", ""),
        ({}, "151", "green more than 150 commits ago"),
        ({}, None, "of a commit that git does not have here"),
        ({"failed": 1}, "0", "not green"),
        ({"passed": 0, "skipped": 3}, "0", "not green"),
    ],
)
def test_a_part_that_was_not_green_of_late_is_named(changes, age, said, tmp_path, monkeypatch):
    monkeypatch.setattr(slow_parts, "_git", lambda *words: age)
    for part in PARTS:
        write_line(tmp_path / "slow.tsv", row(part))
    write_line(tmp_path / "slow.tsv", row("kill", **changes))
    found = warning(tmp_path / "slow.tsv")
    assert found.startswith(f"slow tests {said}: kill") if said else not found
    assert "\n" not in found


def test_without_a_table_or_git_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert warning(tmp_path / "slow.tsv").startswith("slow tests never run: kill, golden, hostile-")
    write_line(tmp_path / "slow.tsv", row("kill"))
    assert "of a commit that git does not have here: kill" in warning(tmp_path / "slow.tsv")


def test_an_unknown_part_is_one_line():
    command = [sys.executable, "-m", "tests.slow_parts", "run", "kil"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode and done.stderr.startswith(
        "slow tests: error: unknown part 'kil'; known"
    )


def row(part, **changes):
    """A line of the table, green but for ``changes``."""
    values = {"commit": "a1", "machine": "m", "passed": 3, "failed": 0, "skipped": 0}
    return {"part": part, **values, "minutes": 1.5, **changes}
