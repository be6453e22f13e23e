import json

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.cost import Cost, cost_record, cost_table, read_cost, sums

HEAD = (
    "2026 | INFO | fairseq_cli.train | num. shared model params: 12,345 (num. trained: 2,345)\n"
    "2026 | INFO | fairseq_cli.train | training on 2 devices (GPUs/TPUs)\n"
)


def epoch(updates, wall, words=100.0, rows=8.0):
    record = {"train_num_updates": updates, "train_wpb": words, "train_bsz": rows}
    record["train_wall"] = wall
    return f"2026 | INFO | train | {json.dumps({k: str(v) for k, v in record.items()})}\n"


@pytest.mark.row("T25")
def test_the_cost_of_a_training_is_summed_over_its_epochs(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(HEAD + epoch(10, 5) + epoch(15, 9, words=200.0, rows=4.0))
    found = read_cost("forward", log)
    assert found == Cost(
        "forward",
        parameters=12_345,
        trained=2_345,
        steps=15,
        sentences=10 * 8 + 5 * 4,
        tokens=10 * 100 + 5 * 200,
        seconds=9.0,
        devices=2,
    )
    assert found.device_days == pytest.approx(2 * 9 / 86_400)


def test_an_epoch_that_was_repeated_after_a_kill_counts_once(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(HEAD + epoch(10, 5) + epoch(20, 9) + HEAD + epoch(20, 12))
    found = read_cost("language", log)
    assert (found.steps, found.tokens, found.seconds) == (20, 2000, 12.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "train.log: contains no finished training"),
        (epoch(1, 1), "train.log: this training log has no parameter count"),
    ],
)
def test_a_log_without_a_training_is_an_error(tmp_path, text, message):
    (tmp_path / "train.log").write_text(text)
    with pytest.raises(UserError, match=f"{message}$"):
        read_cost("forward", tmp_path / "train.log")


@pytest.mark.row("T25", "G9")
def test_the_paper_counts_both_directions_of_transfer_as_one():
    phases = {"commonality": 20_000, "forward": 20_000, "backward": 20_000, "language": 80_000}
    costs = [Cost(name, 10, 5, steps, steps, 2 * steps, 60.0, 1) for name, steps in phases.items()]
    found = sums(costs)
    assert found["steps"] == 140_000
    assert found["steps_as_the_paper_counts"] == 120_000
    assert found["tokens"] == 280_000
    assert found["device_days"] == pytest.approx(4 * 60 / 86_400)
    header, rows = cost_table(cost_record(costs))
    assert all(len(row) == len(header) for row in rows)
    place = header.index("steps")
    assert [row[place] for row in rows[-2:]] == [140_000, 120_000]
