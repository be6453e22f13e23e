"""The page of the papers' tables and figures: each line leads to a part that bears it out."""

import re

import pytest

from tests.unit.docs.conftest import DOCS
from tests.unit.docs.result_links import absent_figures, linked

TEXT = (DOCS / "results" / "papers.md").read_text(encoding="utf-8")
PAPERS = ("Emerging", "TreLM", "CLCR", "A Study", "How multilingual")
PARTS = dict(zip(PAPERS, TEXT.split("\n## ")[1:], strict=True))
LINES = [
    pytest.param(*(cell.strip() for cell in line.split("|")[1:-1]), id=f"{paper} {number}")
    for paper, part in PARTS.items()
    for number, line in enumerate(part.splitlines())
    if line.startswith("| ") and not line.startswith("| In the paper |")
]
VERDICTS = ("kept", "not kept", "not enough to tell")


def test_each_of_the_five_papers_has_its_table():
    assert all(part.startswith(paper) for paper, part in PARTS.items())
    assert all(part.count("\n| ") > 4 for part in PARTS.values())


@pytest.mark.parametrize(("where", "what", "ours", "trend", "outcome"), LINES)
def test_a_line_leads_to_a_part_that_shows_every_figure_of_it(
    where, what, ours, trend, outcome, pages
):
    assert where and what and outcome.endswith((".", ")"))
    assert len(linked(ours, pages)) == 1
    assert list(absent_figures(f"{ours} {outcome}", pages)) == []


@pytest.mark.parametrize(("where", "what", "ours", "trend", "outcome"), LINES)
def test_a_trend_is_what_the_tests_of_that_part_found(where, what, ours, trend, outcome, pages):
    assert trend in (*VERDICTS, "mixed", "no test")
    (part,) = linked(ours, pages)
    part = part.partition("\n\n")[2].lower()
    found = {one for one in VERDICTS if re.search(rf"(: |\. ){one}\b", part)}
    if trend in VERDICTS and found:
        assert trend in found
    elif trend in VERDICTS:
        assert re.search(r"\bp [=<] ", part)
    elif trend == "mixed":
        assert len(found) > 1 or len(re.findall(r"\bp [=<] ", part)) > 1
