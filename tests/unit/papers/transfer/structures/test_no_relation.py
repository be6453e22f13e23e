"""The class that stands for no relation, whatever a file calls it: read as `NONE`, and written as
the file has it."""

import json

import pytest

from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.sentence import NONE, RELATIONS
from tests.unit.papers.transfer.structures.test_formats import GOOD, TACRED


def kbp37(labels):
    text = '{}\t" <e1> Ana </e1> of <e2> Bo </e2> . "\n{}\n\n\n'
    return "".join(text.format(number, label) for number, label in enumerate(labels))


def tacred(labels):
    return json.dumps([{**TACRED, "relation": label} for label in labels])


def lines(labels):
    links = ([{"from": 0, "to": 1, "label": label}] for label in labels)
    return "".join(json.dumps({**GOOD, "relations": one}) + "\n" for one in links)


@pytest.mark.parametrize("none", ["Other", "no_relation", "NA", "None", "no-relation", "NOTA"])
@pytest.mark.parametrize(
    "form, made", [("kbp37", kbp37), ("tacred", tacred), ("json_lines", lines)]
)
def test_pairs_without_a_relation_are_no_class(form, made, none, tmp_path, caplog):
    given = ["works", none, "lives", none, none, "works"]
    path = tmp_path / "file"
    path.write_text(made(given))
    sentences = list(formats[form].read(path, ""))
    gold = [next(iter(RELATIONS.candidates(one))).label for one in sentences]
    assert gold == [NONE if label == none else label for label in given]
    said = f"{none} is read as no relation, 3 of 6 pairs: it is not counted"
    assert (said in caplog.text) == (none != "no_relation")


@pytest.mark.parametrize("form, made", [("kbp37", kbp37), ("tacred", tacred)])
def test_predictions_call_it_as_the_file_does(form, made, tmp_path):
    path = tmp_path / "file"
    path.write_text(made(["works", "Other"]))
    sentences = list(formats[form].read(path, ""))
    formats[form].write(tmp_path / "out", [sentences[1], sentences[0]][::-1], path)
    again = formats[form].read(tmp_path / "out", "")
    assert [one.relations for one in again] == [one.relations for one in sentences]
    assert "Other" in (tmp_path / "out").read_text()
