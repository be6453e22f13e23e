"""The benchmark of ONNX graphs runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = (
    "--layers 2 --width 64 --vocabulary 100 --sentences 6 --batch-size 3 --seconds 0.01 --rounds 1"
)


@pytest.mark.slow
def test_the_graphs_are_printed_next_to_torch_with_equal_means():
    done = launch(
        [sys.executable, ROOT / "benchmarks" / "onnx_encoder.py", *TINY.split()], cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    rows = table_of(done.stdout)
    assert [row[0] for row in rows[2:]] == ["torch", "ONNX Runtime", "ONNX Runtime, int8"]
    rates = [float(row[1].replace(",", "")) for row in rows[2:]]
    times = [float(row[3]) for row in rows[2:]]
    assert times == pytest.approx([rate / rates[0] for rate in rates], rel=0.01, abs=0.01)
    assert 0 < float(rows[4][4]) < float(rows[3][4])  # megabytes
    assert "means differ by" in done.stdout
