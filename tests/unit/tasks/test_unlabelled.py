"""Numbers that stand for no label, in every format that has labels or tags: neither a class nor
scored. Figures are those of scikit-learn and seqeval over what is left."""

import json

import pytest
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conll import UNTAGGED
from fairseq_xling.tasks.heads import check_labels, find_labels, heads, total_counts
from fairseq_xling.tasks.tagging import WordHead, find_tags


def read(form, tmp_path, text, **columns):
    path = tmp_path / "file"
    path.write_text(text)
    return list(formats[form].read(path, columns))


def rows(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


@pytest.mark.parametrize("none", [-1, -100, "-1", "-", None])
@pytest.mark.parametrize("form", ["json_lines", "tsv"])
def test_a_label_that_is_none_is_no_class_and_not_scored(form, none, tmp_path):
    labels = [none, 1, 0, none, 1]
    if form == "tsv":
        text = "".join(f"a text\t{'-' if one is None else one}\n" for one in labels)
    else:
        text = rows(*({"text": "a text", "label": one} for one in labels))
    items = read(form, tmp_path, text)
    kind = heads["classification"]
    found = find_labels(kind, items)
    assert found == {"label": ["0", "1"]}
    head, predicted = kind(found), ["1", "1", "1", "1", "1"]
    check_labels(head, items)
    sums = total_counts(head, items, predicted)
    right = accuracy_score(["1", "0", "1"], ["1", "1", "1"])
    assert sums["items"] == 3 and kind.scores(sums)["accuracy"] == pytest.approx(100 * right)
    nothing = read(form, tmp_path, text.splitlines()[0] + "\n")
    assert not any(map(kind.annotated, nothing))


def test_a_question_whose_answer_is_no_number_of_a_choice_is_unanswered(tmp_path):
    question = {"question": "why", "choices": ["a", "b"]}
    items = read("choices", tmp_path, rows({**question, "label": -1}, {**question, "label": 1}))
    assert [item.label for item in items] == [None, 1]


WORDS = ["the", "do", "##gs", "of", "Berlin", "##s"]


@pytest.mark.parametrize("none", ["-100", "-1"])
@pytest.mark.parametrize("form", ["tagged_rows", "conll"])
@pytest.mark.parametrize(
    "head, tags, predicted",
    [
        ("pos", "3 7 - 1 4 -", "3 1 7 1 4 4"),
        ("ner", "O B-A - O B-B -", "O B-A I-A O B-A I-B"),
        ("ner", "O B-A - I-A - O", "B-A B-A O I-A B-B O"),
    ],
)
def test_a_word_without_a_tag_is_neither_learned_nor_scored(
    head, tags, predicted, form, none, tmp_path
):
    gold, predicted = tags.replace(" -", f" {none}").split(), predicted.split()
    if form == "conll":
        text = "".join(f"{word}\t{tag}\n" for word, tag in zip(WORDS, gold, strict=True))
        items = read(form, tmp_path, text)
    else:
        given = [int(tag) if head == "pos" else tag for tag in gold]
        items = read(form, tmp_path, rows({"tokens": WORDS, "ner_tags": given}))
    kept = [place for place, tag in enumerate(gold) if tag != none]
    kind = heads[head]
    found = find_labels(kind, items)
    assert found == {"tag": sorted({gold[place] for place in kept})}
    check_labels(kind(found), items)
    kind.check(items[0])
    score = kind.scores(total_counts(kind(found), items, [predicted]))[kind.metric]
    ours, theirs = ([[tags[place] for place in kept]] for tags in (predicted, gold))
    wanted = f1_score(theirs, ours) if head == "ner" else accuracy_score(theirs[0], ours[0])
    assert score == pytest.approx(100 * wanted)
    codec = WordHead(head, "bio", find_tags(head, "bio", items))
    with pytest.raises(UserError, match="each word must have a tag, got -100 or -1"):
        codec.encode(items[0], FakeCodec())


class FakeCodec:
    def encode(self, words):
        return [list(range(len(words)))]


def test_a_sentence_of_such_words_alone_is_for_prediction(tmp_path):
    (item,) = read("tagged_rows", tmp_path, rows({"tokens": WORDS[:2], "ner_tags": [-100, -1]}))
    assert item.tags is None and not heads["ner"].annotated(item)
    (item,) = read("conll", tmp_path, f"the\t{UNTAGGED}\ndog\tNOUN\n")
    assert item.tags == (UNTAGGED, "NOUN") and heads["pos"].annotated(item)
