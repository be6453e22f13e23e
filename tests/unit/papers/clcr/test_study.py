"""The pages of `ablate clcr-pairs` and `clcr-readings`: what more sentence pairs give, and what
each reading changes."""

from pathlib import Path

import pytest
from tests.unit.studies.pages.records import RECORDS

from fairseq_xling.papers.clcr.ablations_study import (
    ClcrReadings,
    ClcrReadingsConfig,
    changes,
    gains,
)
from fairseq_xling.papers.clcr.study import measurements, shown_figures
from fairseq_xling.results.frame import frame_from_json, make_frame
from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page

ACCURACY = {10: (50.0, 60.0, 55.0), 40: (60.0, 72.0, 66.0)}
SAME = dict.fromkeys(ACCURACY, (0.5, 0.5, 0.5))


def gained(sizes=(10, 40), f1=SAME, models=(("T", 0.0), ("T+E", 9.0))):
    """The notes on figures of three seeds by the number of pairs."""
    rows = []
    for row in sizes:
        for seed in range(3):
            rows += measurements({"relative": 1 / row, "f1": f1[row][seed]}, row=row, seed=seed)
        for model, more in models:
            for seed, value in enumerate(ACCURACY[row]):
                about = {"row": row, "seed": seed, "model": model, "task": "de.test"}
                rows += measurements({f"accuracy, {model}, de.test": value + more}, **about)
    record = {"source": "en", "tests": [["de.test", "de"]], "pair": ["de", "en"]}
    return list(gains(shown_figures(record, make_frame(rows, model=None))))


@pytest.mark.row("C17")
def test_every_figure_of_the_most_pairs_is_compared_with_the_fewest_by_seed():
    found, paper = gained()
    distance = "relative D (lower is better) -0.075 of the spread"
    assert found.startswith(f"From 10 to 40 pairs: {distance}; pivot F1 +0.0 points; T, de")
    assert "; T, de +11.0 points (95 % interval +8.5 to +13.5)" in found
    assert "; T+E, de +11.0 points" in found and "over 3 seeds: p = 0.003" in found
    assert paper.startswith("More sentence pairs give no gain (4.3")
    assert "points of T+E, de, 10 pairs minus 40 (95 % interval -13.5 to -8.5)" in paper
    assert paper.endswith(". Not kept.")


def test_only_what_both_sizes_have_is_compared():
    found, _ = gained(f1={10: (None, 0.5, 0.6), 40: (0.9, 0.55, None)})
    assert "; pivot F1 +5.0 points; T, de" in found  # of one seed
    found, _ = gained(f1=dict.fromkeys(ACCURACY, (None, None, None)))
    assert "pivot F1" not in found
    assert gained(sizes=[40]) == []


def test_distances_alone_say_nothing_of_the_papers_figures():
    (found,) = gained(f1=dict.fromkeys(ACCURACY, (None, None, None)), models=())
    assert found.startswith("From 10 to 40 pairs: relative D")


RECORD = RECORDS["clcr-readings"]


def changed(frame):
    (line,) = changes(shown_figures(RECORD, frame))
    return line


def test_each_reading_is_compared_with_the_defaults_by_seed():
    frame = frame_from_json(RECORD["frame"])
    line = changed(frame)
    assert line.startswith("finetune against the defaults: relative D (lower is better) +0.100")
    assert "hard D" not in line
    assert "; E, zh +1.0 points" in line
    assert "pivot F1" not in line and "T, zh" not in line  # the same in both
    line = changed(frame[(frame["row"] == "defaults") | (frame["seed"] == 2)])
    assert "; E, zh +1.0 points" in line and "paired t-test" not in line


def test_the_order_is_that_of_the_first_head_and_its_widest_search():
    config = ClcrReadingsConfig(orders="rel,abs", extract_steps=1, order_steps=1)
    rows = [["as in the source", "", 0.1], ["abs", "beam 10", 0.2]]
    rows += [
        ["rel de-en", "beam 1", 0.3],
        ["rel de-en", "beam 10", 0.4],
        ["rel en-de", "beam 10", 0.5],
    ]
    about = {"table": "order", "measure": "BLEU-2"}
    found = [{**about, "order": order, "search": x, "value": value} for order, x, value in rows]
    assert ClcrReadings().further(found, config) == {"order BLEU-2": 0.4}


@pytest.mark.row("C10")
def test_the_page_says_what_each_reading_is_and_measures_its_distance():
    page = make_page(Result(Path("readings.json"), RECORD), figures=False)
    table = page.sections[0]
    assert table.header[:2] == ["reading", "hard D"]
    assert [row[0] for row in table.rows] == ["defaults", "finetune"]
    assert "finetune: copies." in table.notes
    assert any("E, zh (%)" in column for column in table.header)
    measured = {(one.row, one.what): one.value for one in page.measured}
    assert measured["C4", "relative D, finetune"] == 0.5
    assert measured["C10", "E, zh (%), defaults"] == 84.0
    assert measured["C15", "T, zh (%), finetune"] == 61.5
    assert {row for row, _ in measured} == {"C4", "C10", "C13", "C15"}
