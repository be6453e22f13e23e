"""The page of `ablate clcr-pairs`: what more sentence pairs give.

The page of `ablate clcr-readings`: what each reading changes.
"""

import copy
from pathlib import Path

import pytest

from fairseq_xling.papers.clcr.ablations.readings import ClcrReadingsConfig
from fairseq_xling.papers.clcr.ablations_result import _differences, _gains, reading_tables
from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page
from tests.unit.studies.pages.records import RECORDS

ACCURACY = {10: (50.0, 60.0, 55.0), 40: (60.0, 72.0, 66.0)}


def record(sizes, f1=0.5):
    return {
        "source": "en",
        "tests": [["de.test", "de"]],
        "sizes": [
            {
                "pairs": pairs,
                "seeds": [
                    {"seed": n, "hard": None, "relative": 1 / pairs, "f1": f1, "seconds": {}}
                    for n in range(3)
                ],
                "classified": [
                    {"row": row, "seed": n, "accuracy": {"valid": 0.0, "de.test": value + more}}
                    for row, more in (("T", 0.0), ("T+E", 9.0))
                    for n, value in enumerate(ACCURACY[pairs])
                ],
            }
            for pairs in sizes
        ],
    }


@pytest.mark.row("C17")
def test_every_figure_of_the_most_pairs_is_compared_with_the_fewest_by_seed():
    gains, paper = _gains(record([10, 40]))
    distance = "relative D (lower is better) -0.075 of the spread"
    assert gains.startswith(f"From 10 to 40 pairs: {distance}; pivot F1 +0.0 points; T, de")
    assert "; T, de +11.0 points (95 % interval +8.5 to +13.5)" in gains
    assert "; T+E, de +11.0 points" in gains and "over 3 seeds: p = 0.003" in gains
    assert paper.startswith("More sentence pairs give no gain (Appendix C")
    assert "points of T+E, de, 10 pairs minus 40 (95 % interval -13.5 to -8.5)" in paper
    assert paper.endswith(". Not kept.")


def test_only_seeds_with_both_sizes_are_compared():
    made = record([10, 40])
    for one, values in zip(made["sizes"], ([None, 0.5, 0.6], [0.9, 0.55, None]), strict=True):
        for seed, value in zip(one["seeds"], values, strict=True):
            seed["f1"] = value
    gains, _ = _gains(made)
    assert "; pivot F1 +5.0 points; T, de" in gains  # of one seed


def test_what_was_not_measured_is_not_compared():
    gains, _ = _gains(record([10, 40], f1=None))
    assert "pivot F1" not in gains
    assert not list(_gains(record([40])))


def test_distances_alone_say_nothing_of_the_papers_figures():
    sizes = record([10, 40], f1=None)["sizes"]
    (gains,) = _gains({"sizes": [{**one, "classified": []} for one in sizes]})
    assert gains.startswith("From 10 to 40 pairs: relative D")


RECORD = RECORDS["clcr-readings"]


def test_each_reading_is_compared_with_the_defaults_by_seed():
    (line,) = _differences(RECORD)
    assert line.startswith("finetune against the defaults: relative D (lower is better) +0.100")
    assert "hard D" not in line
    assert "; E, zh +1.0 points" in line
    assert "pivot F1" not in line and "T, zh" not in line  # the same in both


def test_seeds_that_one_reading_lacks_are_left_out():
    record = copy.deepcopy(RECORD)
    second = record["readings"][1]
    second["seeds"] = second["seeds"][1:]
    second["seeds"][0]["tables"] = {"E, zh (%)": 90.0}
    (line,) = _differences(record)
    assert "; E, zh +6.0 points" in line and "paired t-test" not in line


def test_the_order_is_that_of_the_first_head_and_its_widest_search():
    header = ["order", "search", "BLEU-2"]
    config = ClcrReadingsConfig(orders="rel,abs", extract_steps=1, order_steps=1)
    rows = [["as in the source", "", 0.1], ["abs", "beam 10", 0.2]]
    rows += [
        ["rel de-en", "beam 1", 0.3],
        ["rel de-en", "beam 10", 0.4],
        ["rel en-de", "beam 10", 0.5],
    ]
    assert reading_tables({"order": {"header": header, "rows": rows}}, config) == {
        "order BLEU-2": 0.4
    }


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
