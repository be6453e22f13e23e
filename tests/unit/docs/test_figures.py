"""The picture of the README, from the results of a demonstration."""

import xml.etree.ElementTree as ElementTree

import pytest

from fairseq_xling.core.files import write_json


def model(score):
    return {"layers": [[score, score], [score / 2, score]], "chance": {"retrieval": 0.01}}


def scores(shared, separate):
    return {"default": {"en": 90.0, "de": shared}, "separate": {"en": 91.0, "de": separate}}


RECORD = {
    "models": {"default": model(0.4), "separate": model(0.02)},
    "transfer": {"pos": scores(71.3, 12.8), "parsing": scores(55.0, 4.0)},
    "migration": {"translation": {n: {"bleu": 10.0} for n in ("identity", "predicted", "oracle")}},
}


@pytest.fixture
def figures(docs_module):
    return docs_module("figures")


def test_the_picture_is_drawn_from_the_results(figures, tmp_path, capsys):
    write_json(tmp_path / "results.json", RECORD)
    figures.main([str(tmp_path), "--output", str(tmp_path / "demo.svg")])
    svg = (tmp_path / "demo.svg").read_text()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    first = figures.draw(RECORD)
    assert first == svg, "the same results are the same picture"
    other = {**RECORD["transfer"], "pos": scores(80.3, 12.8)}
    assert figures.draw({**RECORD, "transfer": other}) != svg


def test_translation_may_be_compared_with_another_model(figures):
    found = {**RECORD["migration"]["translation"], "autoregressive, beam 5": {"bleu": 12.0}}
    assert figures.draw({**RECORD, "migration": {"translation": found}}) != figures.draw(RECORD)


def test_a_folder_that_is_no_finished_demo_gets_one_line(figures, tmp_path):
    with pytest.raises(SystemExit) as ended:
        figures.main([str(tmp_path)])
    assert str(ended.value).startswith("`RUN` must be the folder of a finished demo; no ")
