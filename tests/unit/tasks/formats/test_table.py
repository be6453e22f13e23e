import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from fairseq_xling import columns
from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.json_lines import JsonLines
from fairseq_xling.tasks.formats.table import Table

PAIR = {"text": "premise", "pair": "hypothesis", "label": "label"}
ROWS = [
    {"idx": n, "premise": f"p {n}", "hypothesis": f"h\n{n}", "label": label}
    for n, label in enumerate([2, 0, None, 1, 1])
]


def write(path, rows=ROWS):
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_rows_are_those_of_the_same_file_as_json_lines(name, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 2)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    expected = list(JsonLines.read(tmp_path / "a.jsonl", PAIR))
    found = list(Table.read(write(tmp_path / name), PAIR))
    assert [(i.texts, i.label, i.line) for i in found] == [
        (i.texts, i.label, i.line) for i in expected
    ]
    assert {item.place for item in found} == {f"{tmp_path / name}:{n}" for n in range(1, 6)}


def test_predictions_are_json_lines_of_its_columns(tmp_path):
    items = list(Table.read(write(tmp_path / "a.parquet"), PAIR))
    assert find_format("tsv", "table") is Table
    Table.write(tmp_path / f"out{Table.suffix}", items, ["1"] * 5, PAIR)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    expected = [{k: row[k] for k in ("premise", "hypothesis")} | {"label": 1} for row in ROWS]
    assert [{**row, "label": int(row["label"])} for row in found] == expected


def test_a_file_without_labels_is_for_prediction(tmp_path):
    file = write(tmp_path / "a.parquet", [{"text": "a"}, {"text": "b"}])
    assert [(item.texts, item.label) for item in Table.read(file, {})] == [
        (("a",), None),
        (("b",), None),
    ]


WRONG = {
    "an unknown column": (ROWS, {"text": "premis"}, ": has no column `premis`, only idx, premise"),
    "a column of numbers": (ROWS, {"text": "idx"}, ": column `idx` must be of strings, got int64"),
    "labels of another type": (
        [{"text": "a", "label": 0.5}],
        {},
        ": column `label` must be of strings, got double",
    ),
    "a label column that is not there": (ROWS, PAIR | {"label": "gold"}, ": has no column `gold`"),
    "a blank text": ([{"text": "a"}, {"text": " "}], {}, ":2: `text` is empty"),
    "a text that is missing": ([{"text": "a"}, {"text": None}], {}, ":2: `text` must be a text"),
    "no rows": ([], {}, ": has no column `text`, only "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_row(name, tmp_path):
    rows, chosen, line = WRONG[name]
    file = write(tmp_path / "a.parquet", rows)
    with pytest.raises(UserError) as caught:
        list(Table.read(file, chosen))
    assert str(caught.value).startswith(f"{file}{line}")
