"""The benchmark of tagging runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--sentences 8 --batch-size 4 --hidden 8 --seconds 0.01 --rounds 1 --threads 1"


def test_ours_and_the_loop_find_the_same_tags_and_are_timed():
    done = launch([sys.executable, ROOT / "benchmarks" / "tagging.py", *TINY.split()], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = [row[0] for row in table_of(done.stdout)]
    wanted = {
        f"{k}: {s}" for k in ("prediction", "training") for s in ("ours", "a sentence at a time")
    }
    assert wanted <= set(rows)
