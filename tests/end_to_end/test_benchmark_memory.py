"""The benchmark of memory over batch shapes runs, at a size that says nothing about memory."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = (
    *("--layers", "1", "--dim", "16", "--heads", "2", "--vocab", "200", "--max-tokens", "256"),
    *("--lines", "200", "--updates", "6", "--points", "2"),
)


@pytest.mark.slow
def test_every_way_has_a_curve_over_the_same_updates(tmp_path):
    ways = "as it is,trimmed every 20 updates"
    done = launch(
        [
            *(sys.executable, ROOT / "benchmarks" / "cpu_memory.py", *TINY, "--ways", ways),
            *("--work", tmp_path, "--figure", tmp_path / "curves.png"),
        ],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    header, _, *rows = table_of(done.stdout)
    assert header == ["way", "1", "3", "6", "updates/s"]
    assert [row[0] for row in rows] == ways.split(",")
    sizes = [[float(cell.replace(",", "")) for cell in row[1:4]] for row in rows]
    assert all(50 < size < 5000 for row in sizes for size in row)
    assert (tmp_path / "curves.png").stat().st_size > 1000
