"""The field's data sets as they come: a few rows of our own in the layout of each."""

import json

import pytest
from sklearn.metrics import accuracy_score

from fairseq_xling.analysis.dictionary import read_dictionary
from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conllu import Conllu
from fairseq_xling.tasks.formats.json_lines import JsonLines
from fairseq_xling.tasks.formats.squad import Squad
from fairseq_xling.tasks.formats.tsv import Tsv
from fairseq_xling.tasks.formats.xnli import Xnli, XnliJsonl
from fairseq_xling.tasks.heads import find_labels, total_counts
from fairseq_xling.tasks.heads.classification import Classification
from fairseq_xling.text.anchors import read_entries

HEADINGS = (
    "language",
    "gold_label",
    "sentence1_binary_parse",
    "sentence1",
    "sentence2",
    "promptID",
)
XNLI = [
    ("de", "neutral", "", 'Er sagte "ja".', "Sie ging.", "1"),
    ("en", "contradiction", "", "He said yes.", "He said no.", "1"),
    ("de", "-", "", "Es regnet.", "Es ist nass.", "2"),
]


def tsv(path, *rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", [Xnli, XnliJsonl])
def test_xnli_has_the_rows_of_a_language_and_takes_predictions_for_them(form, tmp_path):
    file = tsv(tmp_path / "xnli.dev.tsv", HEADINGS, *XNLI)
    if form is XnliJsonl:
        rows = (dict(zip(HEADINGS, row, strict=True)) for row in XNLI)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = 2 if form is Xnli else 1
    items = list(form.read_language(file, {}, "de"))
    assert [(item.texts, item.label, item.line) for item in items] == [
        (('Er sagte "ja".', "Sie ging."), "neutral", first),
        (("Es regnet.", "Es ist nass."), None, first + 2),
    ]
    assert len(list(form.read(file, {}))) == 3
    form.write(tmp_path / "out", items, ["entailment", "neutral"], {})
    again = list(form.read_language(tmp_path / "out", {}, "de"))
    assert [item.label for item in again] == ["entailment", "neutral"]
    with pytest.raises(UserError, match=r"xnli\.dev\.tsv: has no rows of language 'fr', only of"):
        list(form.read_language(file, {}, "fr"))


def test_translated_training_text_of_xnli_is_of_one_language(tmp_path):
    rows = [("premise", "hypo", "label"), ("a b", "c", "contradictory"), ("d", "e", "neutral")]
    file = tsv(tmp_path / "multinli.train.de.tsv", *rows)
    items = list(Xnli.read_language(file, {}, "de"))
    assert [(item.texts, item.label) for item in items] == [
        (("a b", "c"), "contradiction"),
        (("d", "e"), "neutral"),
    ]


def test_paws_x_is_a_table_with_headings(tmp_path):
    rows = [("id", "sentence1", "sentence2", "label"), ("1", 'Der "Rat" tagt.', "Es tagt.", "0")]
    file = tsv(tmp_path / "dev_2k.tsv", *rows)
    (item,) = Tsv.read(file, {"text": "sentence1", "pair": "sentence2", "label": "label"})
    assert (item.texts, item.label) == (('Der "Rat" tagt.', "Es tagt."), "0")


@pytest.mark.parametrize("form", [Xnli, Tsv])
def test_the_score_of_sentence_pairs_is_scikit_learns_accuracy(form, tmp_path):
    gold = ["neutral", "contradiction", "neutral", "entailment", "entailment"]
    rows = [("de", label, "", f"Satz {n}.", "Ein Satz.", "1") for n, label in enumerate(gold)]
    columns = {} if form is Xnli else {"text": "sentence1", "label": "gold_label"}
    items = list(form.read(tsv(tmp_path / "a.tsv", HEADINGS, *rows), columns))
    found = ["neutral", "neutral", "neutral", "entailment", "contradiction"]
    head = Classification(find_labels(Classification, items))
    scores = head.scores(total_counts(head, items, found))
    assert scores["accuracy"] == pytest.approx(100 * accuracy_score(gold, found)) == 60


ANSWER = {"text": "am Rhein", "answer_start": 11}


def squad(path, **question):
    context = "Köln liegt am Rhein. 东京在日本。"
    question = {"id": "1", "question": "Wo?", **question}
    article = {"title": "x", "paragraphs": [{"context": context, "qas": [question]}]}
    path.write_text(json.dumps({"version": "1.0", "data": [article]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("mlqa", {"answers": [ANSWER]}),
        ("squad", {"answers": [ANSWER, {"text": "Rhein", "answer_start": 14}]}),
        ("tydiqa-goldp", {"id": "german-12-3", "answers": [ANSWER]}),
        ("squad 2.0", {"answers": [ANSWER], "is_impossible": False}),
    ],
)
def test_questions_of_squads_relatives_have_their_answers(name, question, tmp_path):
    (item,) = Squad.read(squad(tmp_path / "a.json", **question), {})
    assert item.texts[0] == "am Rhein" and item.question == "Wo?"
    assert len(item.texts) == len(question["answers"])


def test_universal_dependencies_have_ranges_empty_nodes_comments_and_subtypes(tmp_path):
    text = (
        "# newdoc id = a\n# text = Vámonos al mar\n"
        "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tVamos\tir\tVERB\t_\tMood=Imp\t0\troot\t0:root\t_\n"
        "2\tnos\tnosotros\tPRON\t_\t_\t1\texpl:pv\t1:expl\t_\n"
        "2.1\t_\t_\tVERB\t_\t_\t_\t_\t1:conj\t_\n"
        "3\tmar\tmar\tNOUN\t_\t_\t1\tobl\t1:obl:a\t_\n\n"
    )
    file = tmp_path / "a.conllu"
    file.write_text(text, encoding="utf-8")
    (item,) = items = list(Conllu.read(file, {}))
    assert item.words == ("Vamos", "nos", "mar") and item.tree.heads == (0, 1, 1)
    assert item.tree.relations == ("root", "expl:pv", "obl")
    Conllu.write(tmp_path / "out", items, [item.tree], {})
    assert (tmp_path / "out").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("between", ["\t", " "])
def test_dictionaries_of_muse_have_tabs_or_spaces_and_words_more_than_once(between, tmp_path):
    pairs = [("the", "die"), ("the", "der"), ("and", "und"), ("15", "15"), ("that's", "das")]
    file = tmp_path / "en-de.txt"
    file.write_text("".join(between.join(pair) + "\n" for pair in pairs), encoding="utf-8")
    assert read_dictionary(file) == pairs
    assert read_entries(file) == [(*pair, 1.0) for pair in pairs]


def test_json_lines_of_the_datasets_library_are_read_by_their_keys(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"premise":"a","hypothesis":"b","label":2,"idx":0}\n')
    (item,) = JsonLines.read(file, {"text": "premise", "pair": "hypothesis"})
    assert (item.texts, item.label) == (("a", "b"), "2")
