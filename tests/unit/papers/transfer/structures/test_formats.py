import gzip
import json
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.sentence import RELATIONS, ROLES, Link, Mention
from fairseq_xling.tasks.items import leaving_out
from tests.unit.papers.transfer.structures.planted import write_jsonl

GOOD = {
    "id": "s1",
    "words": ["Ana", "gave", "Bo", "books"],
    "upos": ["PROPN", "VERB", "PROPN", "NOUN"],
    "heads": [2, 0, 2, 2],
    "deprels": ["nsubj", "root", "iobj", "obj"],
    "entities": [{"span": [0, 1], "type": "PER"}, {"span": [2, 3], "type": "PER"}],
    "triggers": [{"span": [1, 2], "type": "transfer"}],
    "relations": [{"from": 0, "to": 1, "label": "knows"}],
    "arguments": [{"trigger": 0, "entity": 1, "role": "Recipient"}],
}
TACRED = {
    "id": "t1",
    "token": ["Ana", "works", "at", "Acme", "Inc"],
    "stanford_pos": ["NNP", "VBZ", "IN", "NNP", "NNP"],
    "stanford_head": [2, 0, 5, 5, 2],
    "stanford_deprel": ["nsubj", "ROOT", "case", "compound", "nmod"],
    "subj_start": 0,
    "subj_end": 0,
    "obj_start": 3,
    "obj_end": 4,
    "subj_type": "PERSON",
    "obj_type": "ORGANIZATION",
    "relation": "per:employee_of",
}
KBP37 = '1\t" <e1> Thom Yorke </e1> of <e2> Radiohead </e2> . "\nper:employee_of(e1,e2)\n\n\n'


def read(name, path, segment=""):
    return list(formats[name].read(path, segment))


def refused(name, path, segment=""):
    with pytest.raises(UserError) as error:
        read(name, path, segment)
    assert "\n" not in str(error.value)
    return str(error.value).replace(str(path), "FILE")


def test_json_lines_have_candidates_in_order_and_none_where_nothing_is_annotated(tmp_path):
    (one,) = read("json_lines", write_jsonl(tmp_path / "x.jsonl", [GOOD]))
    found = [(c.first, c.second, c.label) for c in RELATIONS.candidates(one)]
    assert found == [(0, 1, "knows"), (1, 0, "NONE")]
    found = [(c.a.type, c.b.start, c.label) for c in ROLES.candidates(one)]
    assert found == [("transfer", 0, "NONE"), ("transfer", 2, "Recipient")]


def test_predictions_in_json_lines_replace_one_kind_of_annotation_and_keep_the_rest(tmp_path):
    path = write_jsonl(tmp_path / "x.jsonl", [{**GOOD, "note": 1}])
    (one,) = read("json_lines", path)
    formats["json_lines"].write(
        tmp_path / "out", [RELATIONS.annotated(one, ["NONE", "likes"])], path
    )
    expected = {**GOOD, "note": 1, "relations": [{"from": 1, "to": 0, "label": "likes"}]}
    assert json.loads((tmp_path / "out").read_text()) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": [2, 0, 4, 3]}, "FILE:2: `heads`, word 3: HEAD must lead to the root, got a cy"),
        ({"heads": [0, 0, 2, 2]}, "FILE:2: `heads`, word 2: a tree must have one root, got a se"),
        ({"heads": [2, 1, 2, 2]}, "FILE:2: `heads`, word 1: a tree must have a root, got no HEAD"),
        ({"heads": [2, 0, 2, 5]}, "FILE:2: `heads` must be numbers from 0 to 4, got 5 at word 4"),
        ({"heads": [2, 0, 2, -1]}, "FILE:2: `heads` must be numbers from 0 to 4, got -1 at word"),
        ({"heads": [2, 0]}, "FILE:2: `heads` must have 4 values, as many as words, got 2"),
        ({"upos": None}, "FILE:2: `upos` must have 4 values, as many as words, got 0"),
        ({"heads": [2, 0, 2, True]}, "FILE:2: `heads` must be a whole number, got True"),
        ({"words": []}, "FILE:2: `words` must have at least 1 word, got 0"),
        ({"entities": [{"span": [3, 5], "type": "X"}]}, "FILE:2: `entities` 0: `span` must be [a"),
        ({"entities": [{"span": [1, 1], "type": "X"}]}, "FILE:2: `entities` 0: `span` must be [a"),
        ({"entities": [{"span": [1], "type": "X"}]}, "FILE:2: `entities` 0: `span` must be [a, b"),
        ({"relations": [{"from": 0, "to": 2, "label": "x"}]}, "FILE:2: `relations` 0: must name o"),
        ({"arguments": [{"trigger": 1, "entity": 0, "role": "x"}]}, "FILE:2: `arguments` 0: must "),
        ({"relations": GOOD["relations"] * 2}, "FILE:2: `relations` 1: the pair 0, 1 must have on"),
        ({"relations": [{"from": 0, "to": 1, "label": "NONE"}]}, "FILE:2: `relations` 0: NONE is "),
    ],
)
def test_bad_json_lines_are_refused_with_file_and_line(tmp_path, change, message):
    path = write_jsonl(tmp_path / "x.jsonl", [GOOD, {**GOOD, **change}])
    assert refused("json_lines", path).startswith(message)


def test_the_ends_of_spans_in_tacreds_form_are_included(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([TACRED]))
    (one,) = read("tacred", path)
    assert one.entities == (Mention(0, 1, "PERSON"), Mention(3, 5, "ORGANIZATION"))
    assert one.relations == (Link(0, 1, "per:employee_of"),) and one.heads == (2, 0, 5, 5, 2)
    assert [(c.first, c.second) for c in RELATIONS.candidates(one)] == [(0, 1)]
    formats["tacred"].write(tmp_path / "out", [RELATIONS.annotated(one, ["NONE"])], path)
    (written,) = json.loads((tmp_path / "out").read_text())
    assert written == {**TACRED, "relation": "no_relation"}
    assert read("tacred", tmp_path / "out")[0].relations == ()


def test_bad_entries_in_tacreds_form_are_refused_with_their_line(tmp_path):
    path = tmp_path / "x.json"
    for change, message in (
        ({"obj_end": 5}, "`obj_start` and `obj_end` must be words from 0 to 4 in order, got 3, 5"),
        ({"subj_start": 1}, "`subj_start` and `subj_end` must be words from 0 to 4 in order, got"),
        ({"subj_type": 3}, "`subj_type` must be a text, got 3"),
    ):
        path.write_text(f"[\n{json.dumps(TACRED)},\n\n{json.dumps({**TACRED, **change})}\n]\n")
        assert refused("tacred", path).startswith(f"FILE:4: entry 2: {message}")
    path.write_text(json.dumps([{**TACRED, "stanford_head": [2, 0, 4, 3, 2]}]))
    assert "got a cycle" in refused("tacred", path)
    path.write_text("{}")
    assert refused("tacred", path) == "FILE: must be a JSON list of at least 1 sentence, got {}"


def test_marks_are_boundaries_of_words_and_the_direction_belongs_to_the_label(tmp_path):
    path = tmp_path / "x.txt.gz"
    second = '2\t"In<e2>Bonn,Ulm</e2> lebt(e)<e1>Ana</e1>."\nno_relation\n\n'
    with gzip.open(path, "wt") as file:
        file.write(KBP37 + second)
    one, other = read("kbp37", path)
    assert one.words == ("Thom", "Yorke", "of", "Radiohead", ".")
    assert one.entities == (Mention(0, 2, "MENTION"), Mention(3, 4, "MENTION"))
    assert one.relations == (Link(0, 1, "per:employee_of(e1,e2)"),)
    assert other.words == ("In", "Bonn,Ulm", "lebt(e)", "Ana", ".") and other.relations == ()
    assert other.entities == (Mention(3, 4, "MENTION"), Mention(1, 2, "MENTION"))
    cut = read("kbp37", path, "space")[1]
    assert cut.words == ("In", "Bonn", ",", "Ulm", "lebt", "(", "e", ")", "Ana", ".")
    assert cut.entities == (Mention(8, 9, "MENTION"), Mention(1, 4, "MENTION"))
    found = [RELATIONS.annotated(one, ["NONE"]), RELATIONS.annotated(other, ["x(e2,e1)"])]
    formats["kbp37"].write(tmp_path / "out", found, path)
    assert (tmp_path / "out").read_text().splitlines()[1] == "no_relation"
    again = read("kbp37", tmp_path / "out")
    assert [x.words for x in again] == [one.words, other.words]
    assert again[1].relations == (Link(0, 1, "x(e2,e1)"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<e1> a <e2> b </e2> </e1>", "FILE:5: must have the marks <e1> </e1> and <e2> </e2> once"),
        ("<e1> a <e2> b </e1> c </e2>", "FILE:5: must have the marks <e1> </e1> and <e2> </e2> on"),
        ("<e1> a </e1> b", "FILE:5: must have the marks <e1> </e1> and <e2> </e2> once each, nei"),
        ("a b", "FILE:5: must have the marks <e1> </e1> and <e2> </e2> once each, neither nested "),
        ("<e1> </e1> <e2> </e2>", "FILE:5: `words` must have at least 1 word, got 0"),
    ],
)
def test_nested_crossing_and_missing_marks_are_refused_with_their_line(tmp_path, text, message):
    path = tmp_path / "x.txt"
    path.write_text(f"{KBP37}2\t{text}\nno_relation\n")
    assert refused("kbp37", path).startswith(message)


def test_the_word_next_to_the_mark_stands_for_a_mention_without_words(tmp_path, caplog):
    path = tmp_path / "x.txt"
    path.write_text(
        "1\t<e1> </e1> a <e2> b </e2>\nr(e1,e2)\n\n2\ta <e2> b </e2> <e1></e1>\nr(e2,e1)\n"
    )
    spans = [[(m.start, m.end) for m in one.entities] for one in read("kbp37", path)]
    assert spans == [[(0, 1), (1, 2)], [(1, 2), (1, 2)]]
    assert "x.txt: 2 records have a mention without words" in caplog.text


def test_records_without_a_tab_a_blank_line_or_a_relation_are_refused(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("1 <e1> a </e1> <e2> b </e2>\nno_relation\n")
    assert refused("kbp37", path).startswith("FILE:1: must be an id, a tab and a text, got")
    path.write_text(KBP37.replace("\n\n\n", "\n") + KBP37)
    assert refused("kbp37", path).startswith("FILE:3: a blank line must follow the relation")
    path.write_text(KBP37 + KBP37.split("\n")[0])
    assert refused("kbp37", path).startswith("FILE:5: must have a relation on the next line")
    path.write_text("\n\n")
    assert refused("kbp37", path) == "FILE: contains no sentences"
    assert refused("json_lines", Path("none.jsonl")) == "FILE: no such file"


@pytest.mark.parametrize(
    ("form", "text", "line", "kept"),
    [
        ("json_lines", json.dumps(GOOD) + "\n{}\n" + json.dumps(GOOD) + "\n", 2, 1 + 3),
        ("kbp37", KBP37 + KBP37.replace("<e2>", "<e1>") + KBP37, 5, 1 + 9),
    ],
)
def test_bad_sentences_are_left_out_up_to_a_number(form, text, line, kept, tmp_path, caplog):
    path = tmp_path / "f"
    path.write_text(text)
    with leaving_out(1, path):
        found = list(formats[form].read(path, ""))
    assert sum(one.line for one in found) == kept
    assert caplog.messages[0].startswith(
        f"{path}: left out 1 bad row(s); the first: {path}:{line}:"
    )
    formats[form].write(tmp_path / "out", found, path)
    again = list(formats[form].read(tmp_path / "out", ""))
    assert [one.relations for one in again] == [one.relations for one in found]


def test_structures_without_their_text_are_refused(tmp_path):
    write_jsonl(tmp_path / "f", [{**GOOD, "words": ["_"] * 4}])
    with pytest.raises(UserError, match="f:1: must have its words, got _ for each of 4; merge"):
        list(formats["json_lines"].read(tmp_path / "f", ""))


def test_text_without_relations_can_be_read_for_prediction(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(KBP37.split("\n")[0] + "\n\n" + KBP37.split("\n")[0])
    assert [one.relations for one in read("kbp37", path)] == [(), ()]


def test_a_sentence_with_too_many_pairs_of_mentions_is_refused(tmp_path):
    entities = [{"span": [0, 1], "type": "PER"}] * 10_000
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"words": ["Ana"], "entities": entities}))
    with pytest.raises(UserError, match=r"a.jsonl:1: must be at most 50000 pairs of mentions"):
        list(formats["json_lines"].read(path, ""))
