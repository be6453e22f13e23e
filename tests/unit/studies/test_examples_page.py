"""Sections of an examples page and their figures."""

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.results.page import Page
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind
from fairseq_xling.studies.examples_page import section, table_lines


def body(record):
    return ["a line", "![Figure 1: D](de/curves.svg)"]


ORIGIN = {"versions": {"torch": "2"}, "date": "2026-01-02T03", "machine": "here"}


def test_a_figure_of_a_run_is_copied_beside_the_page(tmp_path):
    run, page = tmp_path / "study", tmp_path / "page"
    write_json(run / "results.json", {"provenance": ORIGIN, "config": {"seeds": "1"}})
    with pytest.raises(UserError, match=r"study: no figure de/curves\.svg"):
        section(run, body, page)
    (run / "de").mkdir()
    (run / "de" / "curves.svg").write_text("<svg/>")
    lines = section(run, body, page).splitlines()
    assert lines[-2:] == ["a line", "![Figure 1: D](study-de-curves.svg)"]
    assert (page / "study-de-curves.svg").read_text() == "<svg/>"


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
    lines = section(tmp_path, table_lines, tmp_path).splitlines()
    assert lines[4:6] == ["| row |", "|:---|"]
    assert lines[-2:] == ["- own", "- what the page adds"]
