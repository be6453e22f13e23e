import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.choices import Choices

FULL = {
    "id": 7,
    "question": "谁?",
    "context": "The dog.\nIt ran.",
    "choices": ["a", "b"],
    "label": 1,
}
BARE = {"question": "Who?", "choices": ["a", "b", "c"]}


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(written, text):
    return list(Choices.read(written("a.jsonl", text), {}))


def test_each_line_is_a_question_with_its_choices(written):
    first, second, third = read(written, lines(FULL, BARE, BARE | {"label": None, "context": None}))
    assert (first.question, first.context) == ("谁?", "The dog.\nIt ran.")
    assert (first.choices, first.label) == (("a", "b"), 1)
    assert (second.question, second.context, second.label) == ("Who?", None, None)
    assert (third.context, third.label, third.line) == (None, None, 3)


def test_predictions_take_the_place_of_labels_and_all_else_stays(written, tmp_path):
    items = read(written, lines(FULL, BARE))
    path = tmp_path / f"out{Choices.suffix}"
    Choices.write(path, items, [0, 2], {})
    rows = path.read_text(encoding="utf-8").split("\n")
    assert [json.loads(row) for row in rows[:2]] == [FULL | {"label": 0}, BARE | {"label": 2}]
    assert list(json.loads(rows[0])) == list(FULL) and rows[2:] == [""]
    assert "谁" in rows[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lines(BARE) + "{\n", r"a.jsonl:2: not JSON \(Expecting property name .*, column 2\)"),
        (lines(BARE | {"choices": "ab"}), "a.jsonl:1: `choices` must be a list, got 'ab'"),
        (lines(BARE | {"choices": ["a"]}), "a.jsonl:1: `choices` must be at least 2, got 1"),
        (lines(BARE | {"choices": ["a", 2]}), "a.jsonl:1: choice 1 must be a text, got 2"),
        (lines(BARE | {"context": 3}), "a.jsonl:1: `context` must be a text, got 3"),
        (lines(BARE, BARE | {"label": 3}), r"a.jsonl:2: `label` must lie in \[0, 3\), got 3"),
        (lines(BARE | {"label": -2}), r"`label` must lie in \[0, 3\), got -2"),
        (lines(BARE | {"label": "1"}), "a.jsonl:1: `label` must be a whole number, got '1'"),
        ('{"label": 0, "label": 1}\n', "a.jsonl:1: .*the key 'label' occurs twice in one object"),
        ("", "a.jsonl: contains no questions"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(written, text, message):
    with pytest.raises(UserError, match=message):
        read(written, text)
