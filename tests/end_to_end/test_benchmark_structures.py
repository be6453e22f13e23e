"""The benchmark of graph convolution runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 6 --batch-size 3 --vectors 4 --width 6 --seconds 0.01 --rounds 1 --threads 1"


def test_ours_is_printed_beside_a_loop_over_sentences():
    done = launch([sys.executable, ROOT / "benchmarks" / "structures.py", *TINY.split()], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    cells = table_of(done.stdout)
    rows = {row[0]: row[1:] for row in cells[2:]}
    assert len(rows) == 5 and rows["collation, ours"][2] == ""
    for part in ("training", "prediction"):
        rate, _, times = rows[f"{part}, ours"]
        peer = float(rows[f"{part}, a loop over sentences"][0])
        assert float(times) == pytest.approx(float(rate) / peer, rel=0.05, abs=0.1)
    assert "6 sentences of" in done.stdout
