"""Sections of an examples page and their figures."""

import shutil

import pytest

from examples.page import part_named, table_lines, update_page
from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Record, Section, write_record


def body(record):
    return ["a line", "![Figure 1: D](de/curves.svg)"]


ORIGIN = {"versions": {"torch": "2"}, "date": "2026-01-02T03", "machine": "here"}


FOLD = ['<details markdown="1">', "<summary>Tables and settings</summary>", ""]


def write(path, rows=(), **fields):
    """A record of a run."""
    write_record(path, Record(**{"title": "Runs", "rows": rows, "provenance": ORIGIN, **fields}))


def lines_of(page, runs, body=body):
    update_page(page, "# Runs\n", body, runs)
    return page.read_text().splitlines()


@pytest.fixture
def run(tmp_path):
    """A finished run without its figure."""
    folder = tmp_path / "study"
    (folder / "de").mkdir(parents=True)
    config = {"seeds": "1", "text": "/home/someone/text.txt"}
    write(folder / "results.json", config=config)
    return folder


def test_a_figure_of_a_run_is_copied_beside_the_page(run, tmp_path):
    page = tmp_path / "README.md"
    with pytest.raises(UserError, match=r"study: no figure de/curves\.svg"):
        lines_of(page, [run])
    assert not page.exists() and not (tmp_path / "results").exists()
    (run / "de" / "curves.svg").write_text("<svg/>")
    lines = lines_of(page, [run])
    assert lines[:3] == ["# Runs", "", "## study"]
    assert lines[-4:] == ["a line", "![Figure 1: D](study-de-curves.svg)", "", "</details>"]
    assert (tmp_path / "study-de-curves.svg").read_text() == "<svg/>"


def test_a_page_is_made_again_without_the_runs_and_others_sections_stay(run, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# Old head\n\n## before\n\nA figure of 3.\n\n## study\n\nold\n")
    (run / "de" / "curves.svg").write_text("<svg/>")
    made = lines_of(page, [run])
    assert made[:8] == ["# Runs", "", "## before", "", *FOLD, "A figure of 3."]
    assert made.count("## study") == 1 and "old" not in made
    kept = (tmp_path / "results" / "study.json").read_text()
    assert '"text.txt"' in kept and "someone" not in kept
    shutil.rmtree(run)
    assert lines_of(page, []) == made

    def longer(record):
        return [*body(record), record.config["text"]]

    assert lines_of(page, [], longer) == [*made[:-2], "text.txt", *made[-2:]]


def test_the_table_and_the_notes_are_those_of_the_runs_own_page(tmp_path):
    section = Section("Table", Table({"row": "row"}, ""), notes=["own"], name="table")
    write(tmp_path / "results.json", sections=(section,), rows=[{"row": "a"}])
    lines = lines_of(
        tmp_path / "README.md", [tmp_path], lambda found: table_lines(part_named(found))
    )
    assert lines[9:12] == ["| row |", "|:---|", "| a |"]
    assert lines[-4:-2] == ["- own", "- here."]


def test_a_section_says_how_long_its_run_took_where_that_is_known(tmp_path):
    write(tmp_path / "results.json", config={"seeds": "1"}, seconds=200.4, commands=["train"])
    found = lines_of(tmp_path / "a.md", [tmp_path], lambda record: ["a line"])
    (about,) = (x for x in found if "seeds 1" in x)
    assert "seeds 1; its steps took 3 min 20 s; " in about
    write(tmp_path / "results.json", config={"seeds": "1"})
    found = lines_of(tmp_path / "b.md", [tmp_path], lambda record: ["a line"])
    assert not any("took" in x for x in found)


def test_a_run_with_several_results_is_one_section_and_kept_as_a_folder(tmp_path):
    run, page = tmp_path / "measures", tmp_path / "README.md"
    run.mkdir()
    for name in ("first", "second"):
        write(run / f"{name}.json", lead=[f"of {name}"])

    def several(found):
        return [f"{one.name}: {one.lead[0]}" for one in found]

    update_page(page, "# Runs\n", body, [run], several)
    made = page.read_text()
    assert made.splitlines()[2:] == [
        *("## measures", "", *FOLD, "2026-01-02, here; torch 2.", ""),
        *("first: of first", "second: of second", "", "</details>"),
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
