"""What may differ between two runs is known by how it is written, and nothing else passes."""

import hashlib

import pytest
import torch

from fairseq_xling.core.files import sha256, write_json
from fairseq_xling.reports.record import Record, write_record
from tests.kill.disturb import unlike


def test_a_new_key_of_a_time_needs_no_line(runs):
    for run, seconds in zip(runs, (1.0, 2.5), strict=True):
        times = {"seconds_of_steps": seconds, "seconds of lm": seconds, "device_days": seconds}
        write_json(run / "results.json", {"loss": 1.5, **times, "provenance": {"date": seconds}})
    assert not unlike(*runs)


@pytest.mark.parametrize(
    ("measure", "differ"), [("seconds of training", False), ("device_days", False), ("loss", True)]
)
def test_rows_of_a_frame_are_compared_but_for_their_times(measure, differ, runs):
    # However often a value occurs, which changes how the frame is written.
    for run, values in zip(runs, ((4.0, 4.0, 4.0), (4.0, 5.0, 6.0)), strict=True):
        rows = [{"measure": measure, "seed": n, "value": value} for n, value in enumerate(values)]
        rows.append({"measure": "LAS", "value": 7.0})
        write_record(run / "results.json", Record("Losses", rows))
    found = unlike(*runs)
    assert [line.partition(": ")[2] for line in found] == (
        ["/rows/1/value: 4.0 and 5.0", "/rows/2/value: 4.0 and 6.0"] if differ else []
    )


def test_digests_of_files_of_the_run_are_compared_as_their_names(runs):
    for run, time in zip(runs, (1.0, 2.5), strict=True):
        torch.save({"model": 1, "extra_state": {"previous_training_time": time}}, run / "model.pt")
        about = {"model": {"sha256": sha256(run / "model.pt"), "bytes": time}}
        write_json(run / "scores.json", {"inputs": about, "origin": about["model"]["sha256"]})
    assert not unlike(*runs)


def test_a_digest_of_another_file_is_found(runs):
    for run, name in zip(runs, "ab", strict=True):
        for other in "ab":
            (run / other).write_text(other)
        write_json(run / "scores.json", {"inputs": {"sha256": sha256(run / name)}})
    assert unlike(*runs) == ["scores.json: /inputs/sha256: a and b"]


@pytest.mark.parametrize("key", ["loss", "sha256", "updates", "dated", "timeout"])
def test_other_keys_must_be_alike(key, runs):
    for run in runs:
        value = hashlib.sha256(run.name.encode()).hexdigest()
        write_json(run / "results.json", {"of": {key: value}})
    assert len(unlike(*runs)) == 1


@pytest.fixture
def runs(tmp_path):
    found = tmp_path / "first", tmp_path / "second"
    for run in found:
        run.mkdir()
    return found
