"""The table and the samples of the study of adversarial tagging, without any training."""

import pytest
from scipy.stats import ttest_rel

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.papers.transfer.tagging import (
    AdversarialTagging,
    Options,
    sample_items,
    split_text,
)
from fairseq_xling.reports.record import read_record
from fairseq_xling.tasks.formats.conll import Conll
from fairseq_xling.workflow.recipe import Cell
from tests.records import table

CONFIG = Options(languages="en,de,id", rows="1,2,6", seeds="1,2,3")
STUDY = AdversarialTagging()


def record_of(folder, figures):
    """The record where ``figures[row, target]`` are those of the seeds."""
    cells = []
    for (row, target), values in figures.items():
        for seed, value in enumerate(values, start=1):
            scores = {target: {"f1": value}, **({"en": {"f1": 90.0}} if row != "6" else {})}
            language = {"fresh": 0.75} if row != "6" else None
            path = folder / f"{row}-{target}-{seed}.json"
            about = {"epoch": 1, "metric": "f1", "scores": scores, "language": language}
            write_json(path, about)
            cells.append(Cell({"row": row, "target": target, "seed": seed}, {"result": path}))
    STUDY.write(folder / "run", CONFIG, cells, [])
    return read_record(folder / "run")


FIGURES = {
    ("1", "de"): [10.0, 20.0, 30.0],
    ("1", "id"): [10.0, 20.0, 30.0],
    ("2", "de"): [20.0, 35.0, 40.0],
    ("2", "id"): [30.0, 35.0, 50.0],
    ("6", "de"): [80.0] * 3,
    ("6", "id"): [70.0] * 3,
}


def test_cells_are_means_and_deviations_over_seeds(tmp_path):
    header, shown = table(record_of(tmp_path, FIGURES))
    assert header[2:6] == ["f1, de", "f1, id", "mean of targets", "f1, en"]
    assert shown[0][2:6] == ["20.0 ± 10.0", "20.0 ± 10.0", "20.0 ± 10.0", "90.0 ± 0.0"]
    assert shown[1][4] == "35.0 ± 10.0" and shown[1][-2:] == ["", "75.0 ± 0.0"]
    assert shown[2][2:] == ["80.0 ± 0.0", "70.0 ± 0.0", "75.0 ± 0.0", "", "", ""]


def test_notes_say_how_far_rows_that_were_run_are_apart(tmp_path):
    uneven = {**FIGURES, ("2", "de"): [24.0, 35.0, 40.0]}
    (found,) = [note for note in record_of(tmp_path, uneven).sections[0].notes if "less" in note]
    test = ttest_rel([27, 35, 45], [10, 20, 30])
    low, high = test.confidence_interval(0.95)
    assert found == (
        "Row 2 less row 1, mean of targets: +15.7 points (95 % interval "
        f"{low:+.1f} to {high:+.1f}), paired t-test over 3 seeds: p = {test.pvalue:.3f}."
    )


def test_a_note_says_why_the_map_that_was_used_failed():
    rows = [
        {"task": "map", "target": target, "value": 0.8, "chance": 0.75, **failure}
        for target, failure in (("de", {}), ("id", {"failure": "its words are elsewhere"}))
    ]
    row = {"measure": "target", "heading": "f1, de", "row": "1", "name": "x", "value": 1.0}
    notes = next(STUDY.sections([row, *rows], CONFIG)).notes[-2:]
    said = "adversarial: criterion 0.800, chance 0.750"
    assert notes == [
        f"Map en to de, {said}; better than chance.",
        f"Map en to id, {said}; failed: its words are elsewhere.",
    ]


def test_a_sample_is_sentences_of_the_file_in_its_order(tmp_path):
    lines = [f"{n}\tw{n}\tO\n" for n in range(9)]
    (tmp_path / "all").write_text("\n".join(lines))
    sample_items(tmp_path / "all", tmp_path / "some", 4, "token=1,tag=2")
    found = [item.words[0] for item in Conll.read(tmp_path / "some", {"token": "1"})]
    assert len(found) == 4 and found == sorted(found)
    sample_items(tmp_path / "all", tmp_path / "more", 99, "token=1,tag=2")
    assert (tmp_path / "more").read_text() == "\n".join(lines)


def test_the_end_of_a_text_is_held_out(tmp_path):
    (tmp_path / "text").write_text("a b\n\nc\nd  e\n")
    split_text(tmp_path / "text", tmp_path / "train", tmp_path / "last", 1)
    assert (tmp_path / "train").read_text() == "a b\nc\n"
    assert (tmp_path / "last").read_text() == "d e\n"
    with pytest.raises(UserError, match="must have more than 3 sentences"):
        split_text(tmp_path / "text", tmp_path / "train", tmp_path / "last", 3)
