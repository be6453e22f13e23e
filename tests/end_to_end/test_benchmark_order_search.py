"""The benchmark of order search runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 10 --key-points 9 --beam 3 --batch-size 4 --seconds 0.01 --rounds 1 --threads 1"


@pytest.mark.slow
def test_our_beam_is_printed_beside_the_same_beam_in_plain_python_for_both_orders():
    done = launch(
        [sys.executable, ROOT / "benchmarks" / "order_search.py", *TINY.split()],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr  # it checks that both find the same orders
    cells = table_of(done.stdout)
    rows = {row[0]: row[1:] for row in cells[2:]}
    for kind, other in (("absolute", "hungarian"), ("relative", "local")):
        names = ("beam 3", "beam 3, plain Python", "greedy", other)
        assert set(rows) >= {f"{kind}: {name}" for name in names}
        plain = rows[f"{kind}: beam 3, plain Python"]
        assert plain[2] == "1.0"
        assert plain[3] == rows[f"{kind}: beam 3"][3]  # the same bigrams are kept
        for name in names:
            rate, _, times, kept = rows[f"{kind}: {name}"]
            ratio = float(rate.replace(",", "")) / float(plain[0].replace(",", ""))
            assert float(times) == pytest.approx(ratio, rel=0.05, abs=0.06)
            assert 0 < float(kept) <= 1
    assert "10 sentences of 9 key-points" in done.stdout
