"""The page of `ablate clcr-readings`: what each reading changes."""

import copy
from pathlib import Path

import pytest

from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page
from fairseq_xling.studies.clcr.readings_config import ClcrReadingsConfig
from fairseq_xling.studies.clcr.readings_result import _differences, _tables
from tests.unit.studies.pages.records import RECORDS

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
    assert _tables({"order": {"header": header, "rows": rows}}, config) == {"order BLEU-2": 0.4}


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
