"""The benchmark of shards runs, at a size that says nothing about speed."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
TINY = "--megabytes 0.4 --shards 2 --vocab-size 400 --align-sample 0.02 --terabytes 2 --languages 3"


@pytest.mark.slow
def test_every_part_has_a_rate_and_the_bill_is_in_proportion(tmp_path):
    options = [*TINY.split(), "--shard-gigabytes", "10", "--work", tmp_path]
    script = ROOT / "benchmarks" / "prepare_shards.py"
    done = launch([sys.executable, script, *options], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    header, _, *lines = table_of(done.stdout)
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert list(rows) == ["models", "shard0", "shard1", "reading (of models)"]
    for part in ("models", "shard0", "shard1"):
        assert float(rows[part]["MB/s"]) > 0 and float(rows[part]["peak MB"]) > 20
    shards = [rows[part] for part in ("shard0", "shard1")]
    text = sum(float(row["MB of text"]) for row in shards)
    disk = sum(float(row["disk MB"]) for row in shards)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines()[-5:])
    assert float(said["disk"].split()[0]) == pytest.approx(2 * disk / text, rel=0.3)
    each = 2 * 3 + 8 * 2 + 3  # text of three languages, two pairs with links, three files more
    assert said["files"] == f"{200 * each:,} ({each} of a shard)"
    assert int(rows["shard1"]["files"]) == 2 * 2 + 8 + 3  # of two languages
    assert not list(tmp_path.iterdir())
