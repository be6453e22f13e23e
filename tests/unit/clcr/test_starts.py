"""Choosing among several starts of T."""

import json

import pytest

from fairseq_xling.clcr.starts import Start, choose_start, relative_hard_distance
from fairseq_xling.errors import UserError

PAIR = ("de", "en")


def a_start(folder, seed, forth, back, spread_en=4.0, spread_de=2.0):
    """A checkpoint, and a log with two validations, of which the first is better than any."""
    checkpoint, log = folder / f"start{seed}" / "checkpoint_last.pt", folder / f"{seed}.log"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(bytes([seed]))
    lines = []
    for updates, (to_en, to_de) in ((5, (0.01, 0.01)), (10, (forth, back))):
        record = {"valid_num_updates": updates, "valid_hard_de_en": to_en}
        record |= {"valid_hard_en_de": to_de}
        record |= {"valid_spread_en": spread_en, "valid_spread_de": spread_de}
        values = {key: str(value) for key, value in record.items()}
        lines.append(f"2026-01-01 00:00:00 | INFO | valid | {json.dumps({'epoch': 1} | values)}\n")
    log.write_text("".join(lines))
    return Start(seed, checkpoint, log)


def test_the_distance_of_a_start_is_that_of_both_directions_at_its_end(tmp_path):
    start = a_start(tmp_path, 1, 3.0, 1.0)
    assert relative_hard_distance(start.log, PAIR) == pytest.approx(3 / 4 + 1 / 2)
    assert relative_hard_distance(start.log, PAIR[::-1]) == pytest.approx(3 / 4 + 1 / 2)


def test_the_nearest_start_goes_on_and_the_report_names_all(tmp_path):
    starts = [a_start(tmp_path, *one) for one in ((1, 3.0, 1.0), (2, 1.0, 1.2), (3, 1.0, 1.2))]
    chosen = Start(0, tmp_path / "models" / "checkpoint_last.pt", tmp_path / "logs" / "t.log")
    choose_start(starts, PAIR, chosen, tmp_path / "results" / "starts.json")
    assert chosen.checkpoint.read_bytes() == b"\x02"  # of equal ones the first
    assert chosen.log.read_text() == starts[1].log.read_text()
    report = json.loads((tmp_path / "results" / "starts.json").read_text())
    assert [one["seed"] for one in report] == [2, 3, 1]
    assert report[0]["relative_hard_distance"] == pytest.approx(1 / 4 + 1.2 / 2)


def test_a_start_that_was_not_validated_is_refused_and_nothing_is_written(tmp_path):
    start = a_start(tmp_path, 1, 3.0, 1.0)
    start.log.write_text("2026-01-01 00:00:00 | INFO | train | {}\n")
    chosen = Start(0, tmp_path / "models" / "checkpoint_last.pt", tmp_path / "logs" / "t.log")
    with pytest.raises(UserError, match=r"1\.log: no validation has hard_de_en"):
        choose_start([start], PAIR, chosen, tmp_path / "starts.json")
    assert not chosen.checkpoint.exists() and not (tmp_path / "starts.json").exists()
