"""Questions with choices, and the files of CLUE that have forms of their own: C3, ChID, WSC."""

import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.choices import C3, Chid, Choices
from fairseq_xling.tasks.formats.texts import ClueWsc

QUESTION = {"question": "他去哪里？", "choice": ["学校", "商店", "家"], "answer": "商店"}
C3_FILE = [
    [["男：走吧。", "女：好。"], [QUESTION, {**QUESTION, "answer": "家"}], "1-1"],
    [["文本"], [{k: QUESTION[k] for k in ("question", "choice")}], "1-2"],
]
CHID_ROW = {
    "content": ["今天下雨。他#idiom000001#，后来#idiom000002#。完。", "#idiom000003#"],
    "candidates": ["一心一意", "三心二意"],
}
WSC_ROW = {
    "text": "他伯父还有许多女弟子，大半是富商，所以她们的水平都不高",
    "label": "true",
    "target": {
        "span1_text": "女弟子",
        "span1_index": 7,
        "span2_text": "她们",
        "span2_index": 19,
    },
}


def test_c3_is_questions_about_texts_and_is_written_with_answers(written, tmp_path):
    path = written("a.json", json.dumps(C3_FILE, ensure_ascii=False, indent=1))
    items = list(C3.read(path, {}))
    assert [(item.context, item.label) for item in items] == [
        ("男：走吧。 女：好。", 1),
        ("男：走吧。 女：好。", 2),
        ("文本", None),
    ]
    assert items[1].question == "他去哪里？" and items[1].choices == ("学校", "商店", "家")
    assert items[1].place == f"{path}: entry 1, question 2"
    C3.write(tmp_path / "out", items, [0, 1, 2], {})
    found = json.loads((tmp_path / "out").read_text("utf-8"))
    assert [entry[::2] for entry in found] == [entry[::2] for entry in C3_FILE]
    assert [q["answer"] for entry in found for q in entry[1]] == ["学校", "商店", "家"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "a.json: the file must be a list, got {}"),
        ([[["a"], []]], "a.json: contains no questions"),
        ([["a", []]], "a.json: entry 1: the first part must be a list, got 'a'"),
        ([[["a"], ["b"]]], "a.json: entry 1, question 1: must be an object, got 'b'"),
        ([[["a"], [{"question": "b"}]]], "entry 1, question 1: has no `choice`"),
        ([[["a"], [{**QUESTION, "choice": ["x"]}]]], "`choice` must be at least 2, got 1"),
    ],
)
def test_what_breaks_c3_is_named(written, value, message):
    with pytest.raises(UserError, match=message):
        list(C3.read(written("a.json", json.dumps(value)), {}))


def test_a_blank_is_a_question_about_its_sentence_with_the_text_as_context(written, tmp_path):
    path = written("dev.json", json.dumps(CHID_ROW) + "\n")
    assert Chid.beside(path) == () and [item.label for item in Chid.read(path, {})] == [None] * 3
    answers = {"#idiom000001#": 1, "#idiom000002#": 0, "#idiom000003#": 1}
    other = written("dev_answer.json", json.dumps(answers))
    assert Chid.beside(path) == (other,)
    items = list(Chid.read(path, {}))
    assert [item.label for item in items] == [1, 0, 1]
    assert [item.question for item in items] == ["他____，后来...。", "他...，后来____。", "____"]
    assert items[1].context == "今天下雨。他...，后来____。完。"
    assert items[0].choices == ("一心一意", "三心二意") and items[0].place == f"{path}:1"
    Chid.write(tmp_path / "out", items, [1, 1, 0], {})
    assert json.loads((tmp_path / "out").read_text()) == dict(zip(answers, [1, 1, 0], strict=True))


@pytest.mark.parametrize(
    ("row", "answers", "message"),
    [
        (CHID_ROW, {}, r"dev.json:1: .*dev_answer.json has no answer for #idiom000001#"),
        (CHID_ROW, {"#idiom000001#": 2}, r"dev_answer.json: `#idiom000001#` must lie in \[0, 2\)"),
        (CHID_ROW, {"#idiom000001#": "1"}, "`#idiom000001#` must be a whole number, got '1'"),
        ({**CHID_ROW, "content": ["a"]}, {}, "dev.json:1: `content` must have a blank such as #id"),
        (
            {**CHID_ROW, "content": ["#idiom1##idiom1#"]},
            {"#idiom1#": 0},
            "dev.json:1: the blank #idiom1# occurs twice in the file",
        ),
    ],
)
def test_what_breaks_chid_is_named(written, row, answers, message):
    written("dev_answer.json", json.dumps(answers))
    with pytest.raises(UserError, match=message):
        list(Chid.read(written("dev.json", json.dumps(row) + "\n"), {}))


def test_wsc_marks_both_spans_in_its_text_and_is_written_as_it_was(written, tmp_path):
    after = {**WSC_ROW, "target": {**WSC_ROW["target"], "span1_index": 19, "span1_text": "她们",
                                   "span2_index": 0, "span2_text": "他"}}  # fmt: skip
    path = written("a.json", "".join(json.dumps(row) + "\n" for row in (WSC_ROW, after)))
    items = list(ClueWsc.read(path, {}))
    assert [item.texts for item in items] == [
        ("他伯父还有许多 _ 女弟子 _ ，大半是富商，所以 [ 她们 ] 的水平都不高",),
        (" [ 他 ] 伯父还有许多女弟子，大半是富商，所以 _ 她们 _ 的水平都不高",),
    ]
    assert items[0].label == "true"
    formats["clue_wsc"].write(tmp_path / "out", items, ["false", "true"], {})
    found = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert found == [{**WSC_ROW, "label": "false"}, after]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"span1_index": 8},
            "`span1_text` must be the text at `span1_index`, got '女弟子' at 8, whe",
        ),
        ({"span2_index": -1}, "`span2_text` must be the text at `span2_index`, got '她们' at -1"),
        ({"span1_index": "7"}, "`span1_index` must be a whole number, got '7'"),
    ],
)
def test_spans_that_are_not_in_the_text_are_refused(written, changes, message):
    row = {**WSC_ROW, "target": {**WSC_ROW["target"], **changes}}
    with pytest.raises(UserError, match=rf"a.json:1: {message}"):
        list(ClueWsc.read(written("a.json", json.dumps(row) + "\n"), {}))


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


def read_rows(written, text):
    return list(Choices.read(written("a.jsonl", text), {}))


def test_each_line_is_a_question_with_its_choices(written):
    first, second, third = read_rows(
        written, lines(FULL, BARE, BARE | {"label": None, "context": None})
    )
    assert (first.question, first.context) == ("谁?", "The dog.\nIt ran.")
    assert (first.choices, first.label) == (("a", "b"), 1)
    assert (second.question, second.context, second.label) == ("Who?", None, None)
    assert (third.context, third.label, third.line) == (None, None, 3)


def test_predicted_choices_take_the_place_of_labels_and_all_else_stays(written, tmp_path):
    items = read_rows(written, lines(FULL, BARE))
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
def test_a_damaged_question_is_named_with_its_line(written, text, message):
    with pytest.raises(UserError, match=message):
        read_rows(written, text)
