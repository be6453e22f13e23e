"""What a user may get wrong in a file, for every head and format: one line that says where.

Bad rows are refused, or left out up to a number, and reported.
"""

import gzip
import json
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats import find_format, formats, read_items
from fairseq_xling.tasks.heads import check_labels, find_labels, heads
from fairseq_xling.tasks.items import column_number, leaving_out, parse_columns, parse_files


def test_files_are_named_with_their_language():
    assert parse_files("--x", " en=a=b.tsv , de=c ") == [("en", Path("a=b.tsv")), ("de", Path("c"))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`--x` must name a file, as in en=FILE"),
        ("a.tsv", "`--x` must look like en=FILE, got 'a.tsv'"),
        ("en=", "`--x` must look like en=FILE, got 'en='"),
        ("e n=a", "language code 'e n' in 'e n' must be letters, digits or '_', starting with a"),
    ],
)
def test_other_texts_are_no_files(text, message):
    with pytest.raises(UserError) as error:
        parse_files("--x", text)
    assert message in str(error.value)


def test_columns_are_numbers_or_headings():
    columns = parse_columns("text=-2,label=gold")
    header = {"a": 0, "b": 1, "gold": 2}
    assert column_number(columns, "text", header, 0) == -2
    assert column_number(columns, "label", header, 0) == 2
    assert column_number(columns, "pair", header, 9) == 9
    with pytest.raises(UserError, match="`--columns` label=gold: no such heading; the file has a"):
        column_number(columns, "label", {"a": 0}, 0)
    with pytest.raises(UserError, match="`--columns` must look like text=0,label=1, got 'text'"):
        parse_columns("text")
    with pytest.raises(UserError, match="`--columns` must name 'text' once, got it twice"):
        parse_columns("text=0,text=1")


ANSWER = {"text": "dog", "answer_start": 4}
QUESTION = {"id": "1", "question": "who", "answers": [ANSWER]}
IMPOSSIBLE = {**QUESTION, "answers": [], "is_impossible": True}
MOVED = {**QUESTION, "id": "2", "answers": [{**ANSWER, "answer_start": 5}]}


def squad(*questions):
    return json.dumps({"data": [{"paragraphs": [{"context": "the dog ran", "qas": questions}]}]})


def rows(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


def question_row(question):
    answers = {key: [one[key] for one in question["answers"]] for key in ANSWER}
    return {**question, "context": "the dog ran", "answers": answers}


def c3(*answers):
    questions = [{"question": "q", "choice": ["a", "b"], "answer": answer} for answer in answers]
    return json.dumps([[["text"], questions, "1"]])


def wsc(index):
    target = {"span1_text": "dog", "span1_index": index, "span2_text": "it", "span2_index": 4}
    return {"text": "dog it", "label": "true", "target": target}


def tree09(head):
    return "\t".join(["1", "a", *"_" * 6, str(head), "_", "root", *"_" * 3]) + "\n\n"


def conllu(*rows):
    """Rows of form, head and relation as a sentence."""
    return "".join(
        f"{n}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"
        for n, (form, head, relation) in enumerate(rows, start=1)
    )


def frame(*rows):
    """Rows of form, FILLPRED and roles as a sentence."""
    return "".join(
        "\t".join([str(n), form, *"_" * 10, fill, "run.01" if fill == "Y" else "_", *roles]) + "\n"
        for n, (form, fill, *roles) in enumerate(rows, start=1)
    )


def choice(**changes):
    return json.dumps({"question": "who", "choices": ["dog", "cat"], "label": 0, **changes}) + "\n"


TREE = conllu(("he", 2, "nsubj"), ("ran", 0, "root"))
FRAME = frame(("he", "_", "A0"), ("ran", "Y", "_"))
# Of each head, by its format: a file that is sound.
GOOD = {
    ("classification", ""): "the dog\tyes\na cat\tno\n",
    ("classification", "json_lines"): '{"text": "the dog", "label": "yes"}\n',
    ("ner", ""): "he\tB-PER\nran\tO\n\n",
    ("slots", ""): "he\tB-PER\nran\tO\n\n",
    ("pos", ""): "he\tPRON\nran\tVERB\n\n",
    ("parsing", ""): TREE + "\n",
    ("srl", ""): FRAME + "\n",
    ("span_qa", ""): squad(QUESTION),
    ("multiple_choice", ""): choice(),
}


# By head and format: a good row, a bad one, another good one, and what is wrong with the bad one.
FILES = {
    ("classification", "tsv"): ("a\tb\tx\na\t \tx\nc\td\ty\n", "f:2: the text is empty"),
    ("classification", "xnli"): (
        "premise\thypo\tlabel\na\tb\tx\na\t \tx\nc\td\ty\n",
        "f:3: the text is empty",
    ),
    ("classification", "json_lines"): (
        rows({"text": "a"}, {"text": " "}, {"text": "b"}),
        "f:2: `text` is empty",
    ),
    ("classification", "clue_wsc"): (
        rows(wsc(0), wsc(1), wsc(0)),
        "f:2: `span1_text` must be the text at `span1_index`",
    ),
    ("ner", "conll"): ("a O\nb O\n\nc\n\nd B-X\n", "f:4: must have 2 columns like the rows bef"),
    ("slots", "conll"): ("a O\n\nc B-\n\nd B-X\n", "f:3: the tag must be O, B-TYPE or I-"),
    ("ner", "tagged_rows"): (
        rows({"tokens": ["a"]}, {"tokens": []}, {"tokens": ["b"]}),
        "f:2: `tokens` is empty",
    ),
    ("parsing", "conllu"): (
        TREE + "\n" + conllu(("a", 7, "root")) + "\n" + TREE,
        "f:4: HEAD must be a number from 0 to 1, got '7'",
    ),
    ("parsing", "conll09_trees"): (
        tree09(0) + tree09(1) + tree09(0),
        "f:3: a tree must have a root",
    ),
    ("srl", "conll09"): (
        FRAME + "\n" + frame(("he", "_"), ("ran", "Y")) + "\n" + FRAME,
        "f:4: must have 15 columns",
    ),
    ("span_qa", "squad"): (
        squad(QUESTION, MOVED, {**QUESTION, "id": "3"}),
        "f: question '2': the answer must be the context's text",
    ),
    ("span_qa", "question_rows"): (
        rows(*map(question_row, (QUESTION, MOVED, {**QUESTION, "id": "3"}))),
        "f: question '2': the answer must be the context's text",
    ),
    ("multiple_choice", "choices"): (
        choice() + choice(label=7) + choice(),
        "f:2: `label` must lie in [0, 2), got 7",
    ),
    ("multiple_choice", "c3"): (c3("a", "c", "b"), "f: entry 1, question 2: `answer` must be one"),
    ("multiple_choice", "chid"): (
        rows(
            *(
                {"content": [f"x #idiom{n}# y"], "candidates": some}
                for n, some in ((1, ["a", "b"]), (2, ["a"]), (3, ["a", "b"]))
            )
        ),
        "f:2: `candidates` must be at least 2, got 1",
    ),
}


def read(head, form, path, skip_bad=0):
    kind = heads[head]
    return read_items(find_format(kind.format, form), path, {}, "en", kind.check, skip_bad)


@pytest.mark.parametrize(("head", "form"), FILES)
def test_bad_rows_are_left_out_up_to_a_number(head, form, tmp_path, caplog):
    text, wrong = FILES[head, form]
    path = tmp_path / "f"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read(head, form, path)
    text = str(error.value)
    assert text.startswith(f"{tmp_path}/{wrong}") and "--skip" not in text and "\n" not in text
    found = read(head, form, path, 1)
    assert len(found) == 2 and not caplog.messages[:-1]
    assert caplog.messages[-1].startswith(
        f"{path}: left out 1 bad row(s); the first: {tmp_path}/{wrong}"
    )


@pytest.mark.parametrize(
    ("form", "which"),
    [
        ("choices", "for multiple-choice files"),
        ("squad", "for SQuAD files"),
        ("conllu", "since CoNLL-U has fixed columns"),
        ("conll09", "since CoNLL-2009 has fixed columns"),
        ("conll09_trees", "since CoNLL-2009 has fixed columns"),
    ],
)
def test_columns_that_are_fixed_cannot_be_chosen(form, which, tmp_path):
    (tmp_path / "f").write_text("{}")
    with pytest.raises(UserError, match=f"`--columns` must be empty,? {which}, got token"):
        list(formats[form].read(tmp_path / "f", {"token": "1"}))


def test_every_format_with_rows_is_tried():
    assert {form for _, form in FILES} | {"table"} == {*formats}


def test_one_bad_row_too_many_is_refused_with_the_limit(tmp_path):
    (tmp_path / "f").write_text("a\tx\n \tx\nb\ty\n\ty\nc\t\n")
    line = f"{tmp_path}/f:5: the label is empty; `--skip-bad` must be more than 2 to leave out this"
    with pytest.raises(UserError, match=f"^{line} row, too$"):
        read("classification", "tsv", tmp_path / "f", 2)
    assert len(read("classification", "tsv", tmp_path / "f", 3)) == 2


def test_a_file_of_bad_rows_alone_is_refused(tmp_path):
    (tmp_path / "f").write_text("a X\nb Y\n")
    with pytest.raises(UserError, match=r"f: every row is malformed; the first: .*/f:1: the tag"):
        read("ner", "conll", tmp_path / "f", 5)


def test_what_is_wrong_with_a_whole_file_is_never_left_out(tmp_path):
    (tmp_path / "f").write_text("a\tx\tz\tw\n")
    with pytest.raises(UserError, match="f:1: has 4 columns; name them by"):
        read("classification", "tsv", tmp_path / "f", 9)
    with pytest.raises(UserError, match="no such file"), leaving_out(9, "f"):
        list(formats["conll"].read(tmp_path / "none", {}))


def encode(head, items, codec, labels=None):
    one = heads[head](find_labels(heads[head], items) if labels is None else labels)
    check_labels(one, items)
    return ItemDataset([(codec(), 0, items)], one)


@pytest.mark.parametrize(("head", "chosen"), GOOD)
def test_line_ends_marks_and_packing_change_nothing(head, chosen, codec, tmp_path):
    plain = GOOD[head, chosen].encode()
    variants = {
        "plain": plain,
        "crlf": plain.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + plain,
        "no-end": plain.rstrip(b"\n"),
        "packed.gz": gzip.compress(plain),
    }
    found = []
    for name, content in variants.items():
        (tmp_path / name).write_bytes(content)
        rows = [e.rows for e in encode(head, read(head, chosen, tmp_path / name), codec).encoded]
        found.append([row.tolist() for item in rows for row in item])
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    ("head", "labels", "content", "message"),
    [
        ("classification", {"label": ["yes"]}, "a\tyes\nb\tno\n", "f:2: label 'no' is not among"),
        ("ner", {"tag": ["O"]}, "a\tO\n\n# x = y\nb\tO\nc\tB-Z\n", "f:5: tag 'B-Z' is not among"),
        ("pos", {"tag": ["X"]}, "a\tX\nb\tY\n", "f:2: tag 'Y' is not among those of the training"),
        (
            "parsing",
            {"relation": ["root"]},
            f"# a = b\n{TREE}",
            "f:2: relation 'nsubj' is not among",
        ),
        ("srl", {"role": ["A1"]}, FRAME, "f:1: role 'A0' is not among those of the training file"),
        ("span_qa", {}, squad(IMPOSSIBLE), "f: question '1': answer 'none' is not amo"),
    ],
)
def test_a_label_that_training_had_not_is_named_with_its_line(
    head, labels, content, message, codec, tmp_path
):
    path = tmp_path / "f"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as error:
        encode(head, read(head, "", path), codec, labels)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("head", "row"), [("parsing", conllu(("a", 0, "root"))), ("srl", frame(("a", "_")))]
)
def test_a_sentence_that_is_too_long_for_trees_is_named(head, row, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "sentence=3")
    (tmp_path / "f").write_text(f"{row}\n{row * 9}\n")
    with pytest.raises(UserError, match=r"f:3: must be at most 3 lines in an annotated sentence"):
        read(head, "", tmp_path / "f")


def test_a_context_that_is_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "context=5")
    (tmp_path / "f").write_text(squad(QUESTION))
    with pytest.raises(UserError, match="article 1, paragraph 1: must be at most 5 characters in"):
        read("span_qa", "", tmp_path / "f")


def test_an_item_of_too_many_windows_is_named(codec, tmp_path, monkeypatch):
    (tmp_path / "f").write_text("a\tO\n\n" + "dog\tO\n" * 200)
    items = read("ner", "", tmp_path / "f")
    assert len(encode("ner", items, codec)) == 2
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "item=100")
    with pytest.raises(UserError, match=r"f:3: must be at most 100 tokens of an annotated item"):
        encode("ner", items, codec)


def test_what_is_as_deep_as_can_be_read_is_written_again(tmp_path):
    depth, path, out = 700, tmp_path / "f", tmp_path / "out"
    path.write_text('{"text": "a", "label": "b", "more": ' + "[" * depth + "]" * depth + "}\n")
    items = read("classification", "json_lines", path)
    find_format("json_lines").write(out, items, ["b"], {})
    assert out.read_text() == path.read_text()
