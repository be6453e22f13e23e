"""The benchmark of retrieval runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--size 400 --width 12 --k 5 --chunk 64 --clusters 30 --noise 0.5 --threads 1 --sample 40"


@pytest.mark.slow
def test_every_system_finds_the_best_that_brute_force_finds(tmp_path):
    options = [*TINY.split(), "--systems", "ours,sorting", "--work", tmp_path]
    done = launch(
        [sys.executable, ROOT / "benchmarks" / "retrieval.py", *options],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    header, _, *lines = table_of(done.stdout)
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert set(rows) == {"ours", "torch, topk of each block"}
    for row in rows.values():
        assert row["exact"] == "40 of 40" and row["as ours"] == "100.000%"
        assert 0.2 < float(row["P@1"]) <= 1
        assert 50 < float(row["peak MiB"].replace(",", "")) < 2000
    assert 1 <= float(rows["ours"]["passes"]) < 2
    assert "GEMM limit" in done.stdout
