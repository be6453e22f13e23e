"""The table and the samples of the study of adversarial tagging, without any training."""

import pytest
from scipy.stats import ttest_rel

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.papers.transfer.tagging.config import CLAIMS, ROWS, AdversarialTaggingConfig
from fairseq_xling.papers.transfer.tagging.tagging_study import (
    AdversarialTagging,
    map_note,
    sample_items,
    split_text,
)
from fairseq_xling.results.result import find_results
from fairseq_xling.results.tables import cell
from fairseq_xling.studies.study import Cell
from fairseq_xling.tasks.formats.conll import Conll

CONFIG = AdversarialTaggingConfig(languages="en,de,id", rows="1,2,6", seeds="1,2,3")


STUDY = AdversarialTagging()


def table_of(folder, figures):
    """The table where ``figures[row, target]`` are those of the seeds."""
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
    (result,) = find_results(folder / "run")
    return STUDY.page(result).sections[0]


FIGURES = {
    ("1", "de"): [10.0, 20.0, 30.0],
    ("1", "id"): [10.0, 20.0, 30.0],
    ("2", "de"): [20.0, 35.0, 40.0],
    ("2", "id"): [30.0, 35.0, 50.0],
    ("6", "de"): [80.0] * 3,
    ("6", "id"): [70.0] * 3,
}


@pytest.mark.row("E12")
def test_cells_are_means_and_deviations_over_seeds(tmp_path):
    table = table_of(tmp_path, FIGURES)
    header, rows = table.header, table.rows
    assert header[2:6] == ["f1, de", "f1, id", "mean of targets", "f1, en"]
    shown = [[cell(value) for value in row] for row in rows]
    assert shown[0][2:6] == ["20.0 ± 10.0", "20.0 ± 10.0", "20.0 ± 10.0", "90.0 ± 0.0"]
    assert shown[1][4] == "35.0 ± 10.0" and shown[1][-2:] == ["", "75.0 ± 0.0"]
    assert shown[2][2:] == ["80.0 ± 0.0", "70.0 ± 0.0", "75.0 ± 0.0", "", "", ""]


@pytest.mark.row("E12")
def test_notes_say_of_the_rows_that_were_run_whether_it_is_as_in_the_paper(tmp_path):
    assert {code for one in CLAIMS for code in (one.better, one.worse)} <= ROWS.keys()
    uneven = {**FIGURES, ("2", "de"): [24.0, 35.0, 40.0]}
    (found,) = [note for note in table_of(tmp_path, uneven).notes if "Here: " in note]
    test = ttest_rel([27, 35, 45], [10, 20, 30])
    low, high = test.confidence_interval(0.95)
    assert found == (
        "Mapped words help (transfer note, 2.1). Here: +15.7 points, mean of targets, row 2 minus "
        f"row 1 (95 % interval {low:+.1f} to {high:+.1f}), paired t-test over 3 seeds: p = "
        f"{test.pvalue:.3f}. Kept."
    )


def test_a_note_says_why_the_map_that_was_used_failed():
    seeds = {"1": {"failure": "its words are elsewhere"}, "2": {"failure": None}}
    report = {"seeds": seeds, "best_seed": 2, "criterion": 0.8, "chance": 0.75}
    assert map_note("Map", report) == "Map: criterion 0.800, chance 0.750; better than chance."
    failed = map_note("Map", {**report, "best_seed": 1})
    assert failed == "Map: criterion 0.800, chance 0.750; failed: its words are elsewhere."


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
