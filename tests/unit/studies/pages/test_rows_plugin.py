"""The plug-in of the tests that records which rows they check."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
TESTS = """\
import pytest

pytestmark = pytest.mark.row("S8")

@pytest.mark.row("G13", "S8")
def test_passes(record_property):
    record_property("error", 0.5)

def test_fails():
    assert False

def test_skips():
    pytest.skip("no data here")

@pytest.mark.slow
def test_left_out():
    pass
"""


def run(folder, text, *options):
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.rows_plugin", "--rootdir", folder]
    command += ["-c", "/dev/null", "-o", "markers=row\nslow", "--rows", folder / "rows.json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # which take seconds to import, in each process
    done = subprocess.run(
        [*map(str, command), *options, str(folder / "test_it.py")],
        cwd=folder, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    path = folder / "rows.json"
    return done, json.loads(path.read_text()) if path.is_file() else None


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "xdist"])
def test_rows_outcomes_and_figures_are_written(tmp_path, workers):
    _, record = run(tmp_path, TESTS, "-m", "not slow", *workers)
    found = {test["id"].partition("::")[2]: test for test in record["tests"]}
    assert {name: test["outcome"] for name, test in found.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
        "test_left_out": "left out",
    }
    assert found["test_passes"]["rows"] == ["G13", "S8"]
    assert found["test_passes"]["figures"] == {"error": 0.5}
    assert found["test_skips"]["reason"] == "no data here"


def test_a_mark_of_no_row_stops_the_run(tmp_path):
    done, record = run(tmp_path, TESTS.replace("G13", "G99"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_passes: unknown row 'G99'" in done.stdout + done.stderr
    assert record is None
