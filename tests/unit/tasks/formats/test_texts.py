"""Texts with labels: tab-separated, in tables and as JSON lines."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from fairseq_xling.core import columns
from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import find_format, formats
from fairseq_xling.tasks.formats.texts import JsonLines, Table, Tsv
from fairseq_xling.tasks.heads import find_labels, heads


def read(path, **columns):
    return list(Tsv.read(path, columns))


def test_two_columns_are_a_text_and_its_label(written):
    items = read(written("a.tsv", "a dog\tyes\nthe cat \tno\n"))
    assert [(i.texts, i.label, i.line) for i in items] == [
        (("a dog",), "yes", 1),
        (("the cat ",), "no", 2),
    ]


def test_three_columns_are_a_pair_and_one_is_a_text_alone(written):
    (item,) = read(written("a.tsv", "a\tb\tc\n"))
    assert (item.texts, item.label) == (("a", "b"), "c")
    (item,) = read(written("b.tsv", "a\n"))
    assert (item.texts, item.label) == (("a",), None)


def test_columns_may_have_headings_and_be_in_any_order(written):
    path = written("a.tsv", "gold\tid\tsecond\tfirst\nyes\t7\tb\ta\n")
    (item,) = read(path, text="first", pair="second", label="gold")
    assert (item.texts, item.label, item.line) == (("a", "b"), "yes", 2)
    assert read(path, text="3", label="-4")[1].label == "yes"


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a\tb\na\n", {}, ":2: must have 2 columns like the row before, got 1"),
        ("a\tb\na\t\n", {}, ":2: the label is empty"),
        ("a\tb\tc\td\n", {}, ":1: has 4 columns; name them by `--columns text=0,label=1`"),
        ("a\tb\n", {"label": "2"}, ":1: has no column 2 (`label`), only 2 columns"),
        ("", {}, ": contains no rows"),
        ("x\ty\na\tb\n", {"label": "gold"}, "`--columns` label=gold: no such heading"),
        ("x\tx\na\tb\n", {"label": "x"}, ":1: there are two headings 'x'"),
        ("a\tb\n", {"label": "0"}, "`--columns` must give each of label, text its own column"),
        ("a\tb\n", {"tag": "1"}, "`--columns` must name text, pair, label, got 'tag'"),
    ],
)
def test_a_broken_row_is_named(written, text, columns, message):
    path = written("a.tsv", text)
    with pytest.raises(UserError) as error:
        read(path, **columns)
    assert message in str(error.value)


def test_predictions_take_the_place_of_labels_or_a_new_column(written, tmp_path):
    items = read(written("a.tsv", "gold\ttext\nyes\ta\nno\tb\n"), text="text", label="gold")
    Tsv.write(tmp_path / "out", items, ["no", "no"], {})
    assert (tmp_path / "out").read_text() == "gold\ttext\nno\ta\nno\tb\n"
    Tsv.write(tmp_path / "out", read(written("b.tsv", "a\nb\n")), ["x", "y"], {})
    assert (tmp_path / "out").read_text() == "a\tx\nb\ty\n"


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


JSON_LINES_PAIR = {"text": "sentence1", "pair": "sentence2", "label": "gold"}
ROW = {"id": 3, "sentence1": "it rains", "sentence2": "rain\nfalls", "gold": "1"}


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def json_lines_read(written, text, columns=None):
    return list(JsonLines.read(written("a.jsonl", text), columns or {}))


def test_keys_of_any_name_hold_a_text_or_two_and_a_label(written):
    (item,) = json_lines_read(written, lines(ROW), JSON_LINES_PAIR)
    assert (item.texts, item.label, item.place[-9:]) == (
        ("it rains", "rain\nfalls"),
        "1",
        "a.jsonl:1",
    )
    (item,) = json_lines_read(written, lines({"text": ["a", "b c"], "label": 4}))
    assert (item.texts, item.label) == (("a b c",), "4")


def test_rows_without_a_label_are_not_annotated(written):
    rows = [{**ROW, "gold": label} for label in ("-", None, "2")]
    items = json_lines_read(
        written, lines(*rows, {k: v for k, v in ROW.items() if k != "gold"}), JSON_LINES_PAIR
    )
    assert [item.label for item in items] == [None, None, "2", None]
    head = heads["classification"]
    assert [head.annotated(item) for item in items] == [False, False, True, False]
    assert find_labels(head, items) == {"label": ["2"]}
    assert head({"label": ["2"]}).counts(items[0], "2") == (0.0, 0.0)


def test_predictions_are_the_same_objects_with_another_label(written, tmp_path):
    rows = [ROW, {**ROW, "gold": 7}, {k: v for k, v in ROW.items() if k != "gold"}]
    items = json_lines_read(written, lines(*rows), JSON_LINES_PAIR)
    JsonLines.write(tmp_path / "out", items, ["x", "8", "9"], JSON_LINES_PAIR)
    found = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert found == [{**ROW, "gold": "x"}, {**ROW, "gold": 8}, {**ROW, "gold": "9"}]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", {}, "a.jsonl: contains no objects"),
        (lines({"text": "a"}) + "\n", {}, r"a.jsonl:2: not JSON"),
        ('{"text": "a", "text": "b"}\n', {}, r"a.jsonl:1: .*the key 'text' occurs twice in one"),
        (lines({"label": "a"}), {}, "a.jsonl:1: has no `text`"),
        (lines({"text": ["a", 3]}), {}, "a.jsonl:1: each of `text` must be a text, got 3"),
        (lines({"text": "a", "label": 1.5}), {}, "`label` must be a text or a whole number, got 1"),
        (lines(ROW), {"texts": "a"}, "`--columns` must name text, pair, label, got 'texts'"),
        (lines(ROW), {"pair": "text"}, "its own key, got 'text' for `text` and another"),
    ],
)
def test_what_breaks_the_format_is_named(written, text, columns, message):
    with pytest.raises(UserError, match=message):
        json_lines_read(written, text, columns)


def test_a_head_takes_the_formats_whose_items_it_reads():
    assert find_format("tsv") is formats["tsv"]
    assert find_format("tsv", "json_lines") is JsonLines
    assert find_format("choices", "c3") is formats["c3"]
    for head, chosen in (("tsv", "conllu"), ("conll", "json_lines"), ("tsv", "jsonl")):
        with pytest.raises(
            UserError, match=rf"`--format` must be .* with this head, got '{chosen}'"
        ):
            find_format(head, chosen)


RATED = ["good food\t5", "bad food\t1", "so so\t3", "very good\t5", "awful\t1", "fine\t3"]


@pytest.mark.parametrize(
    "heading, rows, columns, named",
    [
        ("review_body\tstars", RATED, {}, "text=review_body,label=stars"),
        ("the review\tthe stars", RATED, {}, "text=the review,label=the stars"),
        (
            "Utterance\tName",
            [*RATED, *RATED, "odd\t2"],
            {},
            "text=Utterance,label=Name",
        ),  # 2: rare
        ("a\tb\tsame", [f"x y\tx z\t{n % 2}" for n in range(4)], {}, "text=a,pair=b,label=same"),
        ("quite good\t4", [*RATED, "odd\t2"], {}, ""),  # two rare classes
        ("fine\t5", RATED, {}, ""),
        ("review_body\tstars", RATED, {"text": "review_body", "label": "stars"}, ""),
        ("review_body\tstars", RATED, {"text": "0", "label": "1"}, ""),  # a row, as was said
        ("the text\t-", RATED, {}, ""),  # no label, as annotators left it
    ],
)
def test_a_label_of_the_first_row_alone_is_doubted(heading, rows, columns, named, tmp_path):
    path = tmp_path / "file.tsv"
    path.write_text("\n".join([heading, *rows]) + "\n")
    if not named:
        headings = columns.get("text") == "review_body"
        assert len(list(Tsv.read(path, columns))) == len(rows) + (not headings)
        return
    with pytest.raises(UserError) as error:
        list(Tsv.read(path, columns))
    fields = [part.split("=")[0] for part in named.split(",")]
    numbers = ",".join(f"{field}={number}" for number, field in enumerate(fields))
    assert f"{path}:1: the label" in str(error.value)
    assert f"`--columns {named}` if it is one, else `--columns {numbers}`" in str(error.value)
