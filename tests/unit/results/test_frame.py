"""The frame of results: kept in JSON, and pivoted."""

import pytest

from fairseq_xling.results.frame import (
    arranged,
    figures,
    frame_from_json,
    frame_to_json,
    listed,
    make_frame,
    pivot,
    split,
    spread,
)
from fairseq_xling.results.tables import cell

VALUES = {("b", "de"): (1.0, 3.0), ("b", "fr"): (3.0, 5.0), ("a", "de"): (4.0, None)}


@pytest.fixture
def frame():
    rows = [
        {"row": row, "target": target, "seed": seed, "measure": "F1", "value": value, "epoch": 3}
        for (row, target), values in VALUES.items()
        for seed, value in enumerate(values, start=1)
    ]
    return make_frame(rows, study="s")


def test_a_frame_is_the_same_after_json(frame):
    kept = frame_to_json(frame)
    assert kept["columns"]["study"] == "s" and kept["columns"]["unit"] is None
    assert kept["columns"]["row"] == {"of": ["b", "a"], "rows": "0 0 0 0 1 1"}
    back = frame_from_json(kept)
    assert sorted(back.columns) == sorted(frame.columns)
    for name in frame.columns:
        assert back[name].tolist() == frame[name].tolist()


def test_numbers_and_texts_that_are_equal_stay_apart():
    mixed = make_frame({"row": row, "value": value} for row, value in (("1", 1), (1, 1.0), (1, 1)))
    back = frame_from_json(frame_to_json(mixed))
    for name in ("row", "value"):
        assert list(map(type, back[name])) == list(map(type, mixed[name]))


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 5},
        {"columns": {}},
        {"columns": None},
        {"rows": None},
        {"more": {"seed": [1]}},
        {"more": {"seed": {"of": [1], "rows": "0 1 0 0 0 0"}}},
        {"more": {"seed": {"of": [1], "rows": "x"}}},
    ],
)
def test_a_damaged_frame_is_refused(frame, change):
    kept = frame_to_json(frame)
    columns = {**kept["columns"], **change.pop("more", {})}
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        frame_from_json({**kept, "columns": columns, **change})


def test_a_cell_has_a_figure_of_each_seed_the_mean_over_all_else(frame):
    header, rows = pivot(frame, {"": "row"}, digits={"F1": 1})
    assert header == ["", "F1"]
    assert [list(map(cell, row)) for row in rows] == [["b", "3.0 ± 1.4"], ["a", "4.0"]]
    header, rows = pivot(frame, {"": "row"}, "target", order=["fr", "de"], signed=["de"], digits=0)
    assert header == ["", "fr", "de"]
    assert [list(map(cell, row)) for row in rows] == [["b", "4 ± 1", "+2 ± 1"], ["a", "", "+4"]]


def test_unrounded_tables_keep_every_seed(frame):
    header, rows = spread(frame, {"row": "row", "seed": "seed"}, "target")
    assert header == ["row", "seed", "de", "fr"]
    assert rows == [
        ["b", 1, 1.0, 3.0],
        ["b", 2, 3.0, 5.0],
        ["a", 1, 4.0, None],
        ["a", 2, *[None] * 2],
    ]
    assert listed(frame, {"name": "row", "x": "value"})[1][:2] == [["b", 1.0], ["b", 3.0]]


def test_rows_are_told_apart_in_the_order_in_which_they_appear(frame):
    assert [(name, len(rows)) for name, rows in split(frame, "target")] == [("de", 4), ("fr", 2)]
    assert [(name, len(rows)) for name, rows in split(frame, "unit")] == [(None, 6)]
    assert arranged(frame, "target")["row"].tolist() == ["b", "b", "a", "a", "b", "b"]
    assert figures(frame, "row")[("b",)] == [2.0, 4.0]
