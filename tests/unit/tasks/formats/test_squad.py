import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.squad import QuestionRows, Squad
from fairseq_xling.tasks.heads import find_labels, heads, total_counts

CONTEXT = "The dog sees 东京. It rains,\nhe ran home."


def question(name="a", start=4, text="dog", **changes):
    answers = [{"text": text, "answer_start": start}]
    return {"id": name, "question": "Who sees it?", "answers": answers} | changes


def content(*questions, context=CONTEXT):
    return {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def read(written, value):
    text = value if isinstance(value, str) else json.dumps(value)
    return list(Squad.read(written("a.json", text), {}))


def test_each_question_has_its_context_and_its_answers_in_characters(written):
    first, second = read(written, content(question(), question("b", 13, "东京")))
    assert (first.id, first.question, first.context) == ("a", "Who sees it?", CONTEXT)
    assert (first.answers, first.texts) == (((4, 7),), ("dog",))
    assert (second.answers, second.texts) == (((13, 15),), ("东京",))
    assert second.place.endswith("a.json: question 'b'")


def test_questions_without_answers_are_read_for_prediction(written):
    bare = {"id": "a", "question": "Who?"}
    items = read(written, content(bare, bare | {"id": "b", "answers": []}))
    assert [item.answers for item in items] == [(), ()]


def test_questions_that_have_no_answer_are_told_from_those_without_annotation(written, tmp_path):
    none = question("b", answers=[], is_impossible=True, plausible_answers=[{"text": "dog"}])
    items = read(written, content(question(is_impossible=False), none, question("c", answers=[])))
    assert [(item.answers, item.impossible) for item in items] == [
        (((4, 7),), False),
        ((), True),
        ((), False),
    ]
    Squad.write(tmp_path / "out.json", items, [(0, 0), (0, 0), (4, 7)], {})
    assert json.loads((tmp_path / "out.json").read_text()) == {"a": "", "b": "", "c": "dog"}


ROW = {"context": "It rains in Rome.", "question": "Where?"}
ANSWER = {"text": ["Rome"], "answer_start": [12]}
NONE = {"text": [], "answer_start": []}


@pytest.mark.parametrize(
    "answers, more, annotated, f1",
    [
        ([ANSWER, NONE, NONE], {}, 3, 100 / 3),  # squad_v2, by a model that always answers
        ([ANSWER, ANSWER, NONE], {}, 3, 200 / 3),
        ([ANSWER, None, NONE], {}, 2, 50),
        ([NONE, NONE, NONE], {}, 0, None),  # a test set whose answers are withheld
        ([ANSWER, NONE, NONE], {"is_impossible": False}, 1, 100),
    ],
)
def test_an_empty_list_of_answers_is_none_where_others_have_some(
    answers, more, annotated, f1, tmp_path, caplog
):
    path = tmp_path / "rows.jsonl"
    rows = ({**ROW, **more, "id": str(n), "answers": one} for n, one in enumerate(answers))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = list(QuestionRows.read(path, {}))
    head = heads["span_qa"]
    assert sum(map(head.annotated, items)) == annotated
    assert ("read as unanswerable" in caplog.text) == any(item.impossible for item in items)
    if annotated:
        made = head(find_labels(head, items))
        sums = total_counts(made, items, [(12, 16)] * 3)
        assert head.scores(sums)["f1"] == pytest.approx(f1)
        assert made.declines == any(item.impossible for item in items)


def test_predictions_are_texts_by_id_in_the_order_of_the_file(written, tmp_path):
    items = read(written, content(question("b", 13, "东京"), question("a")))
    path = tmp_path / f"out{Squad.suffix}"
    Squad.write(path, items, [(13, 15), (0, 7)], {})
    assert path.read_text(encoding="utf-8") == '{\n "b": "东京",\n "a": "The dog"\n}\n'


def test_syntax_errors_name_their_line(written):
    with pytest.raises(UserError, match=r"a.json:2: not JSON \(Expecting value, column 9\)"):
        read(written, '{\n"data": nothing}')
    with pytest.raises(UserError, match=r"a\.json:1: not JSON"):
        read(written, "")
    for text in ("[" * 100_000, "9" * 5000):
        with pytest.raises(UserError, match=r"a\.json:1: not JSON that can be read \("):
            read(written, text)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], r"a.json: must be an object, got \[1\]"),
        ({"data": []}, "a.json: contains no questions"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "article 1, paragraph 1: has no `context`"),
        (content(context=" "), "article 1, paragraph 1: `context` is empty"),
        (content(question(3)), "paragraph 1, question 1: `id` must be a text, got 3"),
        (content(question(question="\ud800 x")), "`question` contains half a surrogate pair"),
        (content(question(), question()), "a.json: question 'a': the id occurs twice in the file"),
        (content(question(is_impossible="no")), "`is_impossible` must be true or false, got 'no'"),
        (content(question(is_impossible=True)), "question 'a': `answers` of an impossible questio"),
        ('{"data": [],\n "data": []}', r"a.json:1: not JSON that can be read \(the key 'data' occ"),
        (content(question(text="")), "question 'a': `text` is empty"),
        (content(question(start="4")), "`answer_start` must be a whole number, got '4'"),
        (content(question(start=-1)), "question 'a': `answer_start` must lie inside the context's"),
        (content(question(start=5)), "question 'a': the answer must be the context's text at its"),
    ],
)
def test_what_breaks_the_format_is_named(written, value, message):
    with pytest.raises(UserError, match=message):
        read(written, value)
