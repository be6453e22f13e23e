"""The script of examples/analysis runs as it stands, cut short, and its run becomes pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_xling.cli.main import main
from tests.end_to_end.engine import BIN, environment

EXAMPLES = Path(__file__).parents[2] / "examples" / "analysis"
TINY = (
    "--languages en,de --seeds 1 --updates 2 --every 2 --layers 2 --vocab-size 600 --contexts 60 "
    "--max-tokens 400"
).split()
SIZES = {"SENTENCES": "120", "HELD_OUT": "20"}


def script(folder, *options):
    env = {**environment(), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **SIZES}
    done = subprocess.run(
        ["bash", str(EXAMPLES / "1_synthetic.sh"), "run", *TINY, *options],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=1400,
    )
    if done.returncode:
        pytest.fail(f"{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def words(path):
    """Its text with single spaces."""
    return " ".join(path.read_text(encoding="utf-8").split())


@pytest.mark.row("S9")
def test_the_study_runs_from_nothing_and_becomes_pages(tmp_path):
    short = "--rows bilingual --same false --measures retrieval,cka".split()
    script(tmp_path, *short)
    run = tmp_path / "run"
    assert "| bilingual | en-de |" in words(run / "table.md")
    record = json.loads((run / "results.json").read_text())
    assert record["header"] == ["encoders", "pair", "retrieval P@1", "CKA", "Pearson"]
    assert all(line["layers"] == [0, 1, 2] for line in record["lines"])
    assert "Exact commands" in (run / "report.html").read_text()
    assert main(["report", str(run), "--output", str(tmp_path / "pages")]) == 0
    assert any("linear CKA" in page.read_text() for page in (tmp_path / "pages").glob("*.html"))
    command = [sys.executable, str(EXAMPLES / "make_readme.py"), str(run)]
    output = tmp_path / "README.md"
    subprocess.run([*command, "--output", str(output)], check=True, env=environment())
    assert "## run" in output.read_text() and "| bilingual | en-de |" in words(output)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.row("S9")
def test_every_row_is_measured_and_goes_on_where_it_was(tmp_path):
    script(tmp_path)
    table = words(tmp_path / "run/table.md")
    for row in ("bilingual", "monolingual, unmapped", "second side random, mapped"):
        assert f"| {row} | en-de |" in table
    assert "| bilingual, Sep Emb | en-en_2 |" in table
    assert "static P@1" in table and "BLI MRR" in table
    assert "train-mono-en-1: done before" in script(tmp_path)
