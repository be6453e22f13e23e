"""What a user may get wrong in a file, for every head: one line that says where and what."""

import gzip
import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.heads import check_labels, find_labels, heads


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


def squad(answers, **changes):
    qas = [{"id": "q", "question": "who", "answers": answers, **changes}]
    return json.dumps({"data": [{"paragraphs": [{"context": "the dog ran", "qas": qas}]}]})


def choice(**changes):
    return json.dumps({"question": "who", "choices": ["dog", "cat"], "label": 0, **changes}) + "\n"


DOG = [{"text": "dog", "answer_start": 4}]
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
    ("span_qa", ""): squad(DOG),
    ("multiple_choice", ""): choice(),
}


def read(head, chosen, path):
    """As training and prediction do: items, and those items encoded."""
    return list(find_format(heads[head].format, chosen).read(path, {}))


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
        ("span_qa", {}, squad([], is_impossible=True), "f: question 'q': answer 'none' is not amo"),
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
    (tmp_path / "f").write_text(squad([]))
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
