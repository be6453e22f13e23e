"""The benchmark of batches runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 60 --vocab 100 --max-tokens 600 --seconds 0.01 --rounds 1"


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--unpadded"]])
def test_sentences_blocks_and_pairs_are_counted(more):
    script = ROOT / "benchmarks" / "feed.py"
    done = launch([sys.executable, script, *TINY.split(), *more], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    header, _, *lines = table_of(done.stdout)
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    pairs = {f"{name}, pairs" for name in ("tlm", "cdlm", "translation")}
    assert set(rows) == pairs | {"mlm, sentences", "mlm, blocks"}
    assert 8 < float(rows["mlm, sentences"]["tokens a row"]) < 16
    assert 100 < float(rows["mlm, blocks"]["tokens a row"]) <= 256
    for row in rows.values():
        rate = float(row["tokens/s"].replace(",", ""))
        assert rate * float(row["us a row"]) == pytest.approx(
            1e6 * float(row["tokens a row"]), rel=0.05
        )
