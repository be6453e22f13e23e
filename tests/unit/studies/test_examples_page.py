"""Sections of an examples page and their figures."""

import shutil

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.results.page import Page
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind
from fairseq_xling.studies.examples_page import table_lines, update_page


def body(record):
    return ["a line", "![Figure 1: D](de/curves.svg)"]


ORIGIN = {"versions": {"torch": "2"}, "date": "2026-01-02T03", "machine": "here"}


def lines_of(page, runs, body=body):
    update_page(page, "# Runs\n", body, runs)
    return page.read_text().splitlines()


@pytest.fixture
def run(tmp_path):
    """A finished run without its figure."""
    folder = tmp_path / "study"
    (folder / "de").mkdir(parents=True)
    config = {"seeds": "1", "text": "/home/someone/text.txt"}
    write_json(folder / "results.json", {"provenance": ORIGIN, "config": config})
    return folder


def test_a_figure_of_a_run_is_copied_beside_the_page(run, tmp_path):
    page = tmp_path / "README.md"
    with pytest.raises(UserError, match=r"study: no figure de/curves\.svg"):
        lines_of(page, [run])
    assert not page.exists() and not (tmp_path / "results").exists()
    (run / "de" / "curves.svg").write_text("<svg/>")
    lines = lines_of(page, [run])
    assert lines[:3] == ["# Runs", "", "## study"]
    assert lines[-2:] == ["a line", "![Figure 1: D](study-de-curves.svg)"]
    assert (tmp_path / "study-de-curves.svg").read_text() == "<svg/>"


def test_a_page_is_made_again_without_the_runs_and_others_sections_stay(run, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# Old head\n\n## before\n\nA figure of 3.\n\n## study\n\nold\n")
    (run / "de" / "curves.svg").write_text("<svg/>")
    made = lines_of(page, [run])
    assert made[:5] == ["# Runs", "", "## before", "", "A figure of 3."]
    assert made.count("## study") == 1 and "old" not in made
    kept = (tmp_path / "results" / "study.json").read_text()
    assert '"text.txt"' in kept and "someone" not in kept
    shutil.rmtree(run)
    assert lines_of(page, []) == made

    def longer(record):
        return [*body(record), record["config"]["text"]]

    assert lines_of(page, [], longer) == [*made, "text.txt"]


class Planted(Kind):
    """Its record has notes of its own, and its page the table."""

    name = "planted"

    def page(self, result):
        notes = [*result.record["notes"], "what the page adds"]
        table = Section("Table", header=["row"], rows=[["a"]], notes=notes, name="table")
        return Page(title="Planted", source="", lead=[], sections=[table], tables={}, measured=[])


def test_the_table_and_the_notes_are_those_of_the_runs_own_page(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS._entries, "planted", Planted)
    record = {"kind": "planted", "provenance": ORIGIN, "config": {"seeds": "1"}, "notes": ["own"]}
    write_json(tmp_path / "results.json", record)
    lines = lines_of(tmp_path / "README.md", [tmp_path], table_lines)
    assert lines[6:8] == ["| row |", "|:---|"]
    assert lines[-2:] == ["- own", "- what the page adds"]


def test_a_section_says_how_long_its_run_took_where_that_is_known(tmp_path):
    record = {"provenance": ORIGIN, "config": {"seeds": "1"}}
    write_json(tmp_path / "results.json", {**record, "seconds_of_steps": 200.4})
    found = lines_of(tmp_path / "a.md", [tmp_path], lambda record: ["a line"])
    (about,) = (x for x in found if "seeds 1" in x)
    assert "seeds 1; its steps took 3 min 20 s; " in about
    write_json(tmp_path / "results.json", record)
    found = lines_of(tmp_path / "b.md", [tmp_path], lambda record: ["a line"])
    assert not any("took" in x for x in found)


def test_a_run_with_several_results_is_one_section_and_kept_as_a_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS._entries, "planted", Planted)
    run, page = tmp_path / "measures", tmp_path / "README.md"
    run.mkdir()
    for name in ("first", "second"):
        record = {"kind": "planted", "provenance": ORIGIN, "notes": [f"of {name}"]}
        write_json(run / f"{name}.json", record)

    def several(found):
        return [f"{one.name}: {one.record['notes'][0]}" for one in found]

    update_page(page, "# Runs\n", body, [run], several)
    made = page.read_text()
    assert made.splitlines()[2:] == [
        *("## measures", "", "2026-01-02, here; torch 2.", ""),
        *("first: of first", "second: of second"),
    ]
    kept = tmp_path / "results" / "measures"
    assert sorted(file.name for file in kept.iterdir()) == ["first.json", "second.json"]
    (run / "second.json").rename(run / "third.json")
    update_page(page, "# Runs\n", body, [run], several)
    made = page.read_text()
    assert "third: of second" in made
    assert sorted(file.name for file in kept.iterdir()) == ["first.json", "third.json"]
    shutil.rmtree(run)
    update_page(page, "# Runs\n", body, [], several)
    assert page.read_text() == made
    with pytest.raises(UserError, match="measures: contains no finished run"):
        update_page(page, "# Runs\n", body, [run], several)
