"""The picture of the README, from the results of a demonstration."""

import xml.etree.ElementTree as ElementTree

import pytest

from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.studies.demo.record import MAPPED


def rows(pos, **bleu):
    """Of both models and the migration."""
    of = {"kind": "eval", "task": "retrieval", "measure": "mean", "chance": 0.01}
    scores = {"shared": (0.4, 0.3), "nothing shared": (0.02, 0.015)}
    layers = [
        {**of, "row": name, "layer": layer, "value": value}
        for name, found in scores.items()
        for layer, value in enumerate(found)
    ]
    of = {"kind": "eval", "what": MAPPED, "measure": "cosine mean", "layer": 1}
    layers += [{**of, "row": name, "value": 0.5} for name in scores]
    of = {"kind": "transfer", "target": "de"}
    tested = {("shared", "POS"): pos, ("shared", "LAS"): 55.0, ("nothing shared", "POS"): 12.8}
    heads = [{**of, "row": n, "measure": task, "value": v} for (n, task), v in tested.items()]
    of = {"kind": "translation", "measure": "BLEU"}
    found = {"identity": 10.0, "predicted": 10.0, "oracle": 10.0, **bleu}
    return [*layers, *heads, *({**of, "ordering": n, "value": v} for n, v in found.items())]


@pytest.fixture
def figures(docs_module):
    return docs_module("figures")


def test_the_picture_is_drawn_from_the_results(figures, tmp_path, capsys):
    write_record(tmp_path / "results.json", Record("Demonstration", rows(71.3)))
    figures.main([str(tmp_path), "--output", str(tmp_path / "demo.svg")])
    svg = (tmp_path / "demo.svg").read_text()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    first = figures.draw(rows(71.3))
    assert first == svg, "the same results are the same picture"
    assert figures.draw(rows(80.3)) != svg
    assert "last layer, mapped" in svg


def test_translation_may_be_compared_with_another_model(figures):
    compared = rows(71.3, **{"autoregressive, beam 5": 12.0})
    assert figures.draw(compared) != figures.draw(rows(71.3))


def test_a_folder_that_is_no_finished_demo_gets_one_line(figures, tmp_path):
    with pytest.raises(SystemExit) as ended:
        figures.main([str(tmp_path)])
    assert str(ended.value).startswith("`RUN` must be the folder of a finished demo; no ")
