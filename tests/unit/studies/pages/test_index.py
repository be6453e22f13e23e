import re

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page
from fairseq_xling.studies.pages.index import (
    Test,
    join_cases,
    make_entries,
    read_tests,
    summary,
    table,
    write_index,
)
from fairseq_xling.studies.pages.presets import Preset
from fairseq_xling.studies.pages.rows import spec_rows
from tests.unit.studies.pages.records import RECORDS


def file_of_tests(path, *tests, **changes):
    known = {"seconds": 0.1, "figures": {}, "reason": ""}
    record = {"kind": "spec-tests", "format": 1, "tests": [known | test for test in tests]}
    write_json(path, record | changes)
    return path


S8 = {"id": "tests/unit/test_cka.py::test_it_is_one", "rows": ["S8", "G13"], "outcome": "passed"}
S1 = {"id": "tests/unit/test_map.py::test_slow[3]", "rows": ["S1"], "outcome": "left out"}


def pages(tmp_path, *kinds, **dates):
    found = []
    for kind in kinds:
        record = RECORDS[kind] | {"provenance": {"command": "c", "date": dates.get(kind, "2026")}}
        result = Result(tmp_path / kind / "results.json", record)
        found.append((result, make_page(result, figures=False), f"{kind}.html"))
    return found


def test_a_row_has_its_tests_its_presets_and_its_figure(tmp_path):
    tests = read_tests([file_of_tests(tmp_path / "t.json", S8)])
    entries = make_entries(tests, [Preset("eval cka", ("S8",))], pages(tmp_path, "evaluation"))
    by_code = {entry.row.code: entry for entry in entries}
    assert [test.name for test in by_code["G13"].tests] == [S8["id"]]
    assert by_code["S8"].presets == ["eval cka"]
    assert by_code["S8"].figure is None
    figure = by_code["S7"].figure
    assert (figure.found.value, figure.link, figure.run) == (0.625, "evaluation.html", "evaluation")
    assert summary(entries) == (
        "128 rows: 2 with a test, 1 with a command. 2 of 60 measured; tests are the result of the "
        "other 68."
    )


def test_the_figure_is_the_one_measured_last(tmp_path):
    found = pages(tmp_path, "evaluation", "comparison", evaluation="2026-01", comparison="2026-02")
    entries = {entry.row.code: entry for entry in make_entries([], [], found)}
    assert entries["S7"].figure.run == "comparison"
    assert entries["S7"].figure.shown == "0.75"


def test_a_row_without_a_figure_says_whether_one_is_missing(tmp_path):
    entries = make_entries([], [], pages(tmp_path, "evaluation"))
    words = {entry.row.code: entry.measured for entry in entries}
    assert words["S7"] == ""
    assert words["S8"] == "not measured yet"
    assert words["C7"] == "its tests are the result"


def test_a_rule_is_never_what_a_run_measures(tmp_path):
    measured = {one.row for _, page, _ in pages(tmp_path, *RECORDS) for one in page.measured}
    assert measured
    assert {spec_rows()[row].result for row in measured} == {"figure"}


def test_the_page_shows_outcomes_figures_and_reasons(tmp_path):
    skipped = S1 | {"outcome": "skipped", "reason": "needs real data"}
    measured = S8 | {"figures": {"CKA": 0.78}}
    tests = read_tests([file_of_tests(tmp_path / "t.json", measured, skipped)])
    found = pages(tmp_path, "evaluation")
    write_index(tmp_path / "index.html", make_entries(tests, [], found), found)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    row = re.search(r'<tr id="S8">(.*?)</tr>', text, re.S)[1]
    assert 'class="passed"' in row
    assert "it is one (unit/test_cka.py)" in row
    assert "CKA: 0.78" in row
    row = re.search(r'<tr id="S1">(.*?)</tr>', text, re.S)[1]
    assert 'class="skipped"' in row
    assert "needs real data" in row
    assert 'href="evaluation.html"' in re.search(r'<tr id="S7">(.*?)</tr>', text, re.S)[1]
    assert "no test" in re.search(r'<tr id="S2">(.*?)</tr>', text, re.S)[1]
    assert "not measured yet" in re.search(r'<tr id="S2">(.*?)</tr>', text, re.S)[1]
    assert "its tests are the result" in re.search(r'<tr id="C7">(.*?)</tr>', text, re.S)[1]
    assert not re.search(r"(src|href)=\"https?:", text)


def test_without_a_file_of_tests_nothing_is_said_about_them(tmp_path):
    write_index(tmp_path / "index.html", make_entries([], [], []), [], tests_given=False)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "No file of tests was given" in text
    assert "no test<" not in text


def test_the_table_has_a_line_for_each_row(tmp_path):
    tests = read_tests([file_of_tests(tmp_path / "t.json", S8)])
    header, rows = table(make_entries(tests, [], pages(tmp_path, "evaluation")))
    lines = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert len(lines) == 128
    assert lines["S8"]["outcomes"] == "passed"
    assert (lines["S8"]["result"], lines["C7"]["result"]) == ("figure", "tests")
    assert lines["S9"]["outcomes"] == "no test"
    assert (lines["T17"]["figure"], lines["T17"]["run"]) == (5.5, "evaluation")


def test_a_later_file_of_tests_wins_unless_it_left_the_test_out(tmp_path):
    first = file_of_tests(tmp_path / "1.json", S8, S1)
    second = file_of_tests(
        tmp_path / "2.json", S8 | {"outcome": "left out"}, S1 | {"outcome": "failed"}
    )
    outcomes = {test.name: test.outcome for test in read_tests([first, second])}
    assert outcomes == {S8["id"]: "passed", S1["id"]: "failed"}


def test_cases_of_a_test_are_one_line_with_the_worst_that_matters():
    def case(name, outcome, **figures):
        reason = "no data" if outcome == "skipped" else ""
        return Test(f"tests/test_a.py::test_b[{name}]", ("S8",), outcome, figures, reason)

    (joined,) = join_cases([case("1", "passed", P=0.5), case("2", "skipped"), case("3", "passed")])
    assert (joined.outcome, joined.cases) == ("passed", 3)
    assert joined.title == "b, 3 cases (test_a.py)"
    assert joined.figures == {"P 1": 0.5}
    assert joined.reason == "1 of 3 cases skipped; no data"
    assert join_cases([case("1", "passed"), case("2", "failed")])[0].outcome == "failed"
    assert join_cases([case("1", "left out"), case("2", "left out")])[0].reason == ""


def test_a_wrong_file_of_tests_is_one_line(tmp_path):
    path = tmp_path / "t.json"
    write_json(path, {"results": []})
    with pytest.raises(UserError, match=r"t\.json: not a file of tests; `pytest --rows FILE`"):
        read_tests([path])
    with pytest.raises(UserError, match=r"t\.json: format must be 1, got 2"):
        read_tests([file_of_tests(path, format=2)])
    with pytest.raises(UserError, match=r"t\.json: damaged \(KeyError: 'id'\)"):
        read_tests([file_of_tests(path, {})])
    with pytest.raises(UserError, match=r"unknown row 'S88'"):
        read_tests([file_of_tests(path, S8 | {"rows": ["S88"]})])
