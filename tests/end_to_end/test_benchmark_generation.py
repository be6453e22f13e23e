"""The benchmark of translation runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 16 --batch-size 8 --layers 2 --dim 16 --heads 2 --vocab 300 --threads 1"
OURS = ("identity", "predicted x1", "predicted x2", "predicted x3", "ctc x2", "ctc x2 top")


@pytest.mark.slow
def test_every_system_is_printed_beside_the_bare_encoder_and_beam_search(tmp_path):
    pytest.importorskip("ctranslate2")
    done = launch(
        [
            *(sys.executable, ROOT / "benchmarks" / "generation.py"),
            *(*TINY.split(), "--rounds", "1", "--work", tmp_path, "--held-out", "40"),
        ],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    cells = table_of(done.stdout)
    header, rows = cells[0], {row[0]: dict(zip(cells[0], row, strict=True)) for row in cells[2:]}
    assert header[1] == "sentences/s"
    assert set(rows) == {
        *(f"bare encoder {kind}" for kind in ("fp32", "bf16")),
        *(f"ours {name} {kind}" for name in OURS for kind in ("fp32", "bf16", "int8")),
        *(f"stock {search} fp32" for search in ("greedy", "beam 5")),
        *(f"CTranslate2 {s} {kind}" for s in ("greedy", "beam 5") for kind in ("fp32", "int8")),
    }
    for name, row in rows.items():
        speed = float(row["sentences/s"].replace(",", ""))
        assert speed > 0
        for base, column in (
            (f"bare encoder {'bf16' if 'bf16' in name else 'fp32'}", "x bare"),
            ("stock beam 5 fp32", "x beam 5"),
        ):
            expected = speed / float(rows[base]["sentences/s"].replace(",", ""))
            assert float(row[column]) == pytest.approx(expected, rel=0.01, abs=0.006)
    assert "16 sentences in batches of 8" in done.stdout
