"""The benchmark of layers that only read runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--layers 2 --dim 32 --heads 2 --sentences 4 --length 5 --seconds 0.01 --rounds 1"


@pytest.mark.slow
def test_every_kind_of_products_is_near_those_of_torch():
    done = launch(
        [sys.executable, ROOT / "benchmarks" / "reading_layers.py", *TINY.split()], cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    rows = table_of(done.stdout)[2:]
    kinds = ["torch fp32", "oneDNN fp32", "torch bf16", "oneDNN bf16"]
    assert [row[0] for row in rows] == [*kinds, "8 bits, scales by row", "8 bits, known ranges"]
    errors = [float(row[4]) for row in rows]
    assert errors[0] == 0
    assert errors[1] < 1e-5
    assert all(0 < error < 0.03 for error in errors[2:])
