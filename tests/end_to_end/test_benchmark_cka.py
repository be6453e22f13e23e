"""The benchmark of CKA runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--rows 1000,40000 --width 24 --chunk 256 --threads 1"


@pytest.mark.slow
def test_chunks_give_what_all_rows_give_in_memory_that_does_not_grow(tmp_path):
    done = launch(
        [
            *(sys.executable, ROOT / "benchmarks" / "cka.py"),
            *(*TINY.split(), "--work", tmp_path),
        ],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    header, _, *lines = table_of(done.stdout)
    rows = {tuple(line[:2]): dict(zip(header, line, strict=True)) for line in lines}
    chunks, whole = (
        [rows[system, size] for size in ("1,000", "40,000")]
        for system in ("ours, in chunks", "numpy, all rows at once")
    )
    for one, other in zip(chunks, whole, strict=True):
        assert 0.1 < float(one["CKA"]) < 0.9
        assert abs(float(one["CKA"]) - float(other["CKA"])) < 1e-11
    # 7 MiB of files, 15 in double precision
    assert float(chunks[1]["memory, MiB"]) < float(whole[1]["memory, MiB"]) - 8
    assert not list((tmp_path / "cka").iterdir())
