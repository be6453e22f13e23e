"""The page of the papers' tables and figures: each line leads to a part that bears it out."""

import re

import pytest

from tests.unit.docs.conftest import DOCS
from tests.unit.docs.result_links import LINK, absent_figures, sections

TEXT = (DOCS / "results" / "papers.md").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if line.startswith("| ") and "](" in line]
PAPERS = ("Emerging", "TreLM", "CLCR", "A Study", "How multilingual")


def test_all_five_papers_have_a_table():
    headings = re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    assert len(headings) == len(PAPERS)
    assert all(one.startswith(paper) for one, paper in zip(headings, PAPERS, strict=True))


@pytest.mark.parametrize("line", LINES)
def test_a_line_leads_to_a_part_that_shows_every_figure_of_it(line, pages):
    where, shown, ours, outcome = (cell.strip() for cell in line.split("|")[1:-1])
    assert where and shown and LINK.search(ours) and outcome
    (link,) = LINK.findall(ours)
    name, _, anchor = link.partition("#")
    assert anchor in sections(pages[name]), link
    assert list(absent_figures(f"{ours} {outcome}", pages)) == []
