"""The benchmark of tree decoding runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 24 --batch-size 8 --seconds 0.01 --rounds 1 --threads 1"


@pytest.mark.slow
def test_ours_is_printed_beside_plain_python_for_random_and_peaked_scores():
    done = launch(
        [sys.executable, ROOT / "benchmarks" / "mst.py", *TINY.split()],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    cells = table_of(done.stdout)
    rows = {row[0]: row[1:] for row in cells[2:]}
    systems = ("ours", "ours, never greedy", "plain Python")
    assert set(rows) == {f"{kind}: {name}" for kind in ("random", "peaked") for name in systems}
    for name, (milliseconds, _, times) in rows.items():
        peer = float(rows[f"{name.split(':')[0]}: plain Python"][0])
        assert float(times) == pytest.approx(peer / float(milliseconds), rel=0.05, abs=0.06)
    assert "24 sentences of" in done.stdout
