import json

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.probing.examples import read_examples
from fairseq_xling.tasks.probing.tasks import convert

TREES = """\
# text = It rains in New York
1\tIt\tit\tPRON\t_\t_\t2\texpl\t_\tConcept=x
2\trains\train\tVERB\t_\t_\t0\troot\t_\t_
3\tin\tin\tADP\t_\t_\t5\tcase\t_\t_
4\tNew\tNew\tPROPN\t_\t_\t5\tcompound\t_\tEntity=B-LOC|SpaceAfter=No
5\tYork\tYork\tPROPN\t_\t_\t2\tobl\t_\tEntity=I-LOC

1\t10 000\t10000\tNUM\t_\t_\t0\troot\t_\t_

"""
TAGS = "Ann\tB-PER\nsaw\tO\nBob\tB-PER\n\nNobody\tO\n\n"


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(TREES, encoding="utf-8")
    return path


def made(source, tmp_path, task, columns=None):
    output = tmp_path / "out.jsonl"
    counts = convert(source, output, task, columns or {})
    found = [
        [" ".join(one.text.split()[a:b]) for a, b in one.spans] + list(one.labels)
        for one in read_examples(output)
    ]
    assert counts == (len(output.read_text().splitlines()), len(found))
    return found


def test_parts_of_speech_of_every_word(trees, tmp_path):
    assert made(trees, tmp_path, "pos") == [
        ["It", "PRON"],
        ["rains", "VERB"],
        ["in", "ADP"],
        ["New", "PROPN"],
        ["York", "PROPN"],
        ["10000", "NUM"],  # a token holds no white space
    ]


def test_words_and_their_heads_but_not_the_root(trees, tmp_path):
    assert made(trees, tmp_path, "deps") == [
        ["It", "rains", "expl"],
        ["in", "York", "case"],
        ["New", "York", "compound"],
        ["York", "rains", "obl"],
    ]


def test_entities_of_treebanks_and_tagged_files(trees, tmp_path):
    assert made(trees, tmp_path, "entities") == [["New York", "LOC"]]
    tagged = tmp_path / "a.tsv"
    tagged.write_text(TAGS)
    assert made(tagged, tmp_path, "entities") == [["Ann", "PER"], ["Bob", "PER"]]
    assert made(tagged, tmp_path, "pos", {"token": "0", "tag": "1"})[3] == ["Nobody", "O"]


def test_rows_have_the_form_of_edge_probing(trees, tmp_path):
    convert(trees, tmp_path / "out.jsonl", "entities", {})
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    targets = [{"span1": [3, 5], "label": "LOC"}]
    assert json.loads(line) == {"text": "It rains in New York", "targets": targets}


def test_what_a_file_has_not_is_said(trees, tmp_path):
    for task, message in (
        ("tense", "unknown `--task` 'tense'"),
        ("deps", "the sentence has no tree"),
    ):
        tagged = tmp_path / "a.tsv"
        tagged.write_text(TAGS)
        with pytest.raises(UserError, match=message):
            convert(tagged, tmp_path / "out", task, {})
    (tmp_path / "b.tsv").write_text("Nobody\tO\n\n")
    with pytest.raises(UserError, match=r"b\.tsv: contains nothing for the task 'entities'"):
        convert(tmp_path / "b.tsv", tmp_path / "out", "entities", {})
    (tmp_path / "b.tsv").write_text("Ann\tPER\n\n")
    with pytest.raises(UserError, match="the tag must be O, B-TYPE or I-TYPE, got 'PER'"):
        convert(tmp_path / "b.tsv", tmp_path / "out", "entities", {})
    assert not (tmp_path / "out").exists()
