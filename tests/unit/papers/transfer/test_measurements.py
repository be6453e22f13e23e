"""The table of `eval transfer`, of rows of planted tests."""

import pytest

from fairseq_xling.papers.transfer.commands.eval_transfer import transfer_record
from fairseq_xling.papers.transfer.config import TransferConfig
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.rows import select
from fairseq_xling.reports.tables import cell
from tests.transfer_record import transfer_rows


def result(name, sources, *values, shifted=None):
    """By language the figures of a seed."""
    tests = [{"scores": {x: {"f1": y} for x, y in one.items()}} for one in values]
    for one in tests if shifted else ():
        one["shifted"] = {x: {"alpha": 1, "scores": {"f1": y}} for x, y in shifted.items()}
    return {"encoder": name, "sources": sources, "tests": tests}


def sections(languages, *results, **config):
    """By title header and lines of the record's tables."""
    known = dict.fromkeys([*languages, "en", "de", "fr"])
    rows = transfer_rows(*results, metric="f1", languages=known)
    record = transfer_record("Title", rows, TransferConfig(head="ner", **config), languages)
    shown = {part.section.title: part.shown for part in parts(record) if part.section.table}
    return {title: (header, [list(map(cell, line)) for line in lines])
            for title, (header, lines) in shown.items()}  # fmt: skip


def shown(languages, *results):
    return sections(languages, *results)["f1 by language"]


def test_mean_and_gap_compare_the_targets_with_the_source():
    seeds = {"en": 80.0, "de": 60.0, "fr": 50.0}, {"en": 90.0, "de": 70.0, "fr": 60.0}
    results = result("a", ["en"], *seeds), result("b", ["de"], {"de": 50.0})
    header, rows = shown(["en", "de", "fr"], *results)
    assert header == ["encoder", "en", "de", "fr", "mean of targets", "gap"]
    assert rows[0] == ["a", "85.0 ± 7.1", "65.0 ± 7.1", "55.0 ± 7.1", "60.0", "25.0"]
    assert rows[1] == ["b", "", "50.0", "", "", ""]


def test_no_language_that_was_trained_on_is_a_target():
    (row,) = shown(["fr"], result("a", ["en", "de"], {"en": 90.0, "de": 80.0, "fr": 70.0}))[1]
    assert row == ["a", "70.0", "70.0", "15.0"]


def test_rows_of_one_name_are_apart_by_what_was_trained_on():
    results = [result("a", [lang], {lang: 90.0}) for lang in ("en", "de")]
    header, rows = shown(["en", "de"], *results)
    assert header == ["encoder", "trained on", "en", "de"]
    assert rows == [["a", "en", "90.0", ""], ["a", "de", "", "90.0"]]


def test_each_test_set_has_a_line_with_a_mean_and_a_gap_of_its_own():
    scores = {"en": 90.0, "de": 60.0, "test12.de": 30.0, "test1.en": 80.0, "test1.de": 40.0}
    one = result("ours", ["en"], scores, shifted={"test1.de": 50.0})
    assert shown(["en", "de"], one)[1] == [
        ["ours", "90.0", "60.0", "60.0", "30.0"],
        ["ours, test1", "80.0", "40.0", "40.0", "40.0"],
        ["ours, test12", "", "30.0", "30.0", ""],
        ["ours, shifted, test1", "", "50.0", "50.0", ""],
    ]
    (shifts,) = sections(["en", "de"], one)["Chosen shifts"][1]
    assert shifts == ["ours", "1", "test1.de", "1"]


def test_settings_are_listed_from_the_best_and_those_that_were_not_chosen_are_left_out():
    dev = [
        {"setting": setting, "seed": seed, "value": value + seed}
        for setting, value in (("a", 1.0), ("b", 3.0), ("c", 2.0))
        for seed in (1, 2)
    ]
    one = {**result("ours", ["en"], {"en": 90.0}), "dev": dev, "chosen": {"b": 4.5, "c": 3.5}}
    header, rows = sections(["en"], one, best=2)["Chosen settings"]
    assert header == ["row", "setting", "f1 on dev"]
    assert rows == [["ours", "b", "4.50 ± 0.71"], ["ours", "c", "3.50 ± 0.71"]]


@pytest.mark.parametrize("sources", [["en"], ["en", "de"]])
def test_every_row_names_what_was_trained_on_and_how_it_was_tested(sources):
    rows = transfer_rows(result("a", sources, {"en": 1.0, "fr": 2.0}), metric="f1")
    assert {row["source"] for row in rows} == {"+".join(sources)}
    assert [row["task"] for row in select(rows, {"part": "test", "measure": "f1"})] == ["en", "fr"]
