"""Distances read from the logs of trainings: seeds put together, phases one after the other."""

import json

import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.measures.curves import read_training
from fairseq_xling.reports.record import read_record
from tests.records import table


def write_log(path, values, steps=(10, 20), pair="en-de"):
    """A log with D of either direction; the second is twice the first."""
    first, _, second = pair.partition("-")
    lines = ["2026-01-01 | INFO | train | something else"]
    for step, value in zip(steps, values, strict=True):
        record = {"epoch": 1, "valid_num_updates": str(step), "valid_loss": "9"}
        for name, one in ((f"{first}_{second}", value), (f"{second}_{first}", 2 * value)):
            record |= {f"valid_distance_{name}": str(one), f"valid_relative_{name}": str(one / 4)}
        record |= {f"valid_spread_{first}": "4.0", f"valid_spread_{second}": "4.0"}
        lines.append(f"2026-01-01 | INFO | valid | {json.dumps(record)}")
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_phases_go_on_where_the_one_before_ended(tmp_path):
    first = write_log(tmp_path / "a.log", [3.0, 2.0])
    second = write_log(tmp_path / "b.log", [1.5, 1.0])
    found = read_training(f"annealed={first},{second}", "valid")
    assert found.name == "annealed"
    assert list(found.curves) == [
        "distance de-en", "distance en-de", "relative de-en", "relative en-de",
    ]  # fmt: skip
    assert found.curves["distance en-de"] == [[10, 3.0], [20, 2.0], [30, 1.5], [40, 1.0]]


def test_trainings_are_compared_in_a_table(tmp_path):
    logs = [("annealed", [3.0, 1.0]), ("annealed", [4.0, 2.0])]
    logs += [("no annealing", [3.0, 2.5]), ("linear", [3.5, 3.0])]
    given = [
        f"{name}={write_log(tmp_path / str(number), values)}"
        for number, (name, values) in enumerate(logs)
    ]
    output = tmp_path / "curves.json"
    assert main(["clcr", "measure", "curves", *given, "--output", str(output)]) == 0
    header, lines = table(read_record(output))
    assert header[:5] == ["training", "seeds", "steps", "D de-en", "D en-de"]
    assert [line[:5] for line in lines] == [
        ["annealed", "2", "20", "3.000 ± 1.414", "1.500 ± 0.707"],
        ["no annealing", "1", "20", "5.000", "2.500"],
        ["linear", "1", "20", "6.000", "3.000"],
    ]


def test_what_is_not_finite_is_left_out(tmp_path):
    log, output = write_log(tmp_path / "a.log", [3.0, float("nan")]), tmp_path / "curves.json"
    assert main(["clcr", "measure", "curves", f"a={log}", "--output", str(output)]) == 0
    _, [line] = table(read_record(output))
    assert line == ["a", "1", "20", "", "", "", ""]


def test_mistakes_are_named(tmp_path):
    log = write_log(tmp_path / "a.log", [3.0, 2.0])
    for text, line in (
        ("x", r"TRAINING must look like annealed=train\.log, got 'x'"),
        (f"a={log}", r"a\.log: has no distances under 'test'; it must be"),
    ):
        with pytest.raises(UserError, match=line):
            read_training(text, "test")


def test_trainings_of_other_pairs_are_refused(tmp_path, capsys):
    logs = [write_log(tmp_path / "a.log", [1.0, 1.0])]
    logs.append(write_log(tmp_path / "b.log", [1.0, 1.0], pair="en-zh_Hans"))
    assert main(["clcr", "measure", "curves", *(f"x={log}" for log in logs)]) == 1
    assert "b.log: must have distance de-en, distance en-de" in capsys.readouterr().err
