"""The README's commands run as they stand, in one empty folder, from top to bottom."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.engine import BIN, environment

README = Path(__file__).parents[2] / "README.md"


def _blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(bash|python)\n(.*?)^```", README.read_text(), re.M | re.S)


@pytest.mark.timeout(1500)
def test_every_command_of_the_readme_runs(tmp_path):
    env = {**environment(), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for language, text in _blocks():
        if language == "python":
            named = re.match(r"# (\S+/__init__\.py)", text)
            assert named, "a Python block must begin with the file it belongs into"
            file = tmp_path / named[1]
            file.parent.mkdir()
            file.write_text(text)
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=900,
        )
        if done.returncode:
            pytest.fail(f"{text}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    assert (tmp_path / "eval.json").is_file()
    assert (tmp_path / "migration" / "report.html").is_file()
    assert (
        json.loads((tmp_path / "conditions.json").read_text())["distances"]["matched"]["auc"] > 0.6
    )
    origin = json.loads((tmp_path / "clcr" / "results.json").read_text())["provenance"]
    assert origin["command"].startswith("fairseq-xling clcr run --data apart")
    assert origin["inputs"]["model, seed 1"]["path"].startswith("clcr/models/order-rel-1/")
    assert (tmp_path / "first-word" / "checkpoint_last.pt").is_file()


def test_every_file_that_the_readme_names_exists():
    root = README.parent
    table = [line for line in README.read_text().splitlines() if line.startswith("| ")][2:]
    paths = [path for line in table for path in re.findall(r"`([\w/]+(?:\.py|/))`", line)]
    assert len(paths) > 15
    missing = [
        p for p in paths if not ((root / p).exists() or (root / "fairseq_xling" / p).exists())
    ]
    assert not missing


def test_the_engine_step_of_the_readme_is_the_one_that_errors_print():
    from fairseq_xling.compat import ENGINE_STEP

    assert ENGINE_STEP in README.read_text()
