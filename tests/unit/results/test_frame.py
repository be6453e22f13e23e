"""`xling.read_study`: tables of results as frames of pandas."""

import csv
import sys

import pandas
import pytest

import fairseq_xling as xling
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.results.result import find_results, make_page
from fairseq_xling.results.tables import write_csv
from tests.unit.studies.pages.records import ORIGIN, RECORDS


def run_of(folder, kind):
    write_json(folder / "results.json", {**RECORDS[kind], "provenance": ORIGIN})
    return folder


@pytest.mark.parametrize("kind", ["ablation", "evaluation", "transfer"])
def test_each_kind_of_result_is_read_as_its_csv_files_have_it(kind, tmp_path):
    run = run_of(tmp_path, kind)
    page = make_page(*find_results(run))
    first = xling.read_study(run)
    assert first.attrs["tables"] == list(page.tables)
    assert (first.attrs["kind"], first.attrs["title"]) == (kind, page.title)
    assert first.attrs["command"] == ORIGIN["command"]
    for name, (header, rows) in page.tables.items():
        write_csv(tmp_path / "t.csv", header, rows)
        with open(tmp_path / "t.csv", encoding="utf-8") as file:
            columns, *lines = csv.reader(file)
        found = xling.read_study(str(run), name)
        assert list(found.columns) == columns and len(found) == len(lines)
        for row, line in zip(found.itertuples(index=False), lines, strict=True):
            assert list(map(same, row, line)) == [True] * len(line)


def same(value, text):
    if value is None or pandas.isna(value):
        return text == "" or text == "nan"
    return value == text if isinstance(value, str) else float(value) == float(text)


def test_a_study_has_a_row_for_each_seed_with_numbers_to_compute_with(tmp_path):
    found = xling.read_study(run_of(tmp_path, "ablation"))
    record = RECORDS["ablation"]
    assert set(found["seed"]) == {int(seed) for seed in record["config"]["seeds"].split(",")}
    one = record["values"][0]
    own = found[(found.setting == one["setting"]) & (found.target == one["target"])]
    own = own[own.measure == one["measure"]].sort_values("seed")
    assert own["value"].tolist() == one["seeds"]
    mean = sum(one["seeds"]) / len(one["seeds"])
    assert own["value"].mean() == pytest.approx(mean)


def test_what_is_no_finished_run_is_refused_in_one_line(tmp_path):
    def refusal(*given):
        with pytest.raises(ValueError) as error:
            xling.read_study(*given)
        assert isinstance(error.value, UserError) and "\n" not in str(error.value)
        return str(error.value)

    assert refusal(tmp_path / "none").endswith("none: no such folder or file of results")
    assert "contains no results" in refusal(tmp_path)
    (tmp_path / "results.json").write_text("{")
    assert "results.json" in refusal(tmp_path)
    write_json(tmp_path / "results.json", {"kind": "ablation", "config": {}})
    assert "damaged results of kind 'ablation'" in refusal(tmp_path)
    run = run_of(tmp_path / "run", "ablation")
    assert refusal(run, 3) == "unknown table 3; known: table"
    assert refusal(None) == "`folder` must be a path, got None"
    assert refusal(run, "tabel") == "unknown table 'tabel'; did you mean 'table'? known: table"
    for name in ("one", "two"):
        write_json(tmp_path / "many" / f"{name}.json", RECORDS["evaluation"])
    assert refusal(tmp_path / "many").endswith("name one of them: one.json, two.json")


def test_without_pandas_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"pip install 'fairseq_xling\[pandas\]'"):
        xling.read_study(tmp_path)
