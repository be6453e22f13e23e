import json

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats import find_format, formats
from fairseq_xling.tasks.formats.json_lines import JsonLines
from fairseq_xling.tasks.heads import find_labels, heads

PAIR = {"text": "sentence1", "pair": "sentence2", "label": "gold"}
ROW = {"id": 3, "sentence1": "it rains", "sentence2": "rain\nfalls", "gold": "1"}


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read(written, text, columns=None):
    return list(JsonLines.read(written("a.jsonl", text), columns or {}))


def test_keys_of_any_name_hold_a_text_or_two_and_a_label(written):
    (item,) = read(written, lines(ROW), PAIR)
    assert (item.texts, item.label, item.place[-9:]) == (
        ("it rains", "rain\nfalls"),
        "1",
        "a.jsonl:1",
    )
    (item,) = read(written, lines({"text": ["a", "b c"], "label": 4}))
    assert (item.texts, item.label) == (("a b c",), "4")


def test_rows_without_a_label_are_not_annotated(written):
    rows = [{**ROW, "gold": label} for label in ("-", None, "2")]
    items = read(written, lines(*rows, {k: v for k, v in ROW.items() if k != "gold"}), PAIR)
    assert [item.label for item in items] == [None, None, "2", None]
    head = heads["classification"]
    assert [head.annotated(item) for item in items] == [False, False, True, False]
    assert find_labels(head, items) == {"label": ["2"]}
    assert head({"label": ["2"]}).counts(items[0], "2") == (0.0, 0.0)


def test_predictions_are_the_same_objects_with_another_label(written, tmp_path):
    rows = [ROW, {**ROW, "gold": 7}, {k: v for k, v in ROW.items() if k != "gold"}]
    items = read(written, lines(*rows), PAIR)
    JsonLines.write(tmp_path / "out", items, ["x", "8", "9"], PAIR)
    found = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert found == [{**ROW, "gold": "x"}, {**ROW, "gold": 8}, {**ROW, "gold": "9"}]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", {}, "a.jsonl: contains no objects"),
        (lines({"text": "a"}) + "\n", {}, r"a.jsonl:2: not JSON"),
        ('{"text": "a", "text": "b"}\n', {}, r"a.jsonl:1: .*the key 'text' occurs twice in one"),
        (lines([1]), {}, r"a.jsonl:1: must be an object, got \[1\]"),
        (lines({"label": "a"}), {}, "a.jsonl:1: has no `text`"),
        (lines({"text": " "}), {}, "a.jsonl:1: `text` is empty"),
        (lines({"text": []}), {}, "a.jsonl:1: `text` is empty"),
        (lines({"text": ["a", 3]}), {}, "a.jsonl:1: each of `text` must be a text, got 3"),
        (
            lines({"text": "a", "label": 1.5}),
            {},
            "`label` must be a text or a whole number, got 1.5",
        ),
        (lines({"text": "a", "label": True}), {}, "a text or a whole number, got True"),
        (lines({"text": "a", "label": " "}), {}, "a.jsonl:1: `label` is empty"),
        (lines(ROW), {"texts": "a"}, "`--columns` must name text, pair, label, got 'texts'"),
        (lines(ROW), {"pair": "text"}, "its own key, got 'text' for `text` and another"),
    ],
)
def test_what_breaks_the_format_is_named(written, text, columns, message):
    with pytest.raises(UserError, match=message):
        read(written, text, columns)


def test_a_head_takes_the_formats_whose_items_it_reads():
    assert find_format("tsv") is formats["tsv"]
    assert find_format("tsv", "json_lines") is JsonLines
    assert find_format("choices", "c3") is formats["c3"]
    for head, chosen in (("tsv", "conllu"), ("conll", "json_lines"), ("tsv", "jsonl")):
        with pytest.raises(
            UserError, match=rf"`--format` must be .* with this head, got '{chosen}'"
        ):
            find_format(head, chosen)
