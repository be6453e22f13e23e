"""Sections of an examples page and their figures."""

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.studies.examples_page import section


def body(record):
    return ["a line", "![Figure 1: D](de/curves.svg)"]


def test_a_figure_of_a_run_is_copied_beside_the_page(tmp_path):
    run, page = tmp_path / "study", tmp_path / "page"
    origin = {"versions": {"torch": "2"}, "date": "2026-01-02T03", "machine": "here"}
    write_json(run / "results.json", {"provenance": origin, "config": {"seeds": "1"}})
    with pytest.raises(UserError, match=r"study: no figure de/curves\.svg"):
        section(run, body, page)
    (run / "de").mkdir()
    (run / "de" / "curves.svg").write_text("<svg/>")
    lines = section(run, body, page).splitlines()
    assert lines[-2:] == ["a line", "![Figure 1: D](study-de-curves.svg)"]
    assert (page / "study-de-curves.svg").read_text() == "<svg/>"
