"""The first page answers what newcomers ask, each by a link to a section that is there."""

import re

import pytest

from tests.unit.docs.conftest import DOCS

_, _, ROWS = (
    (DOCS / "index.md").read_text(encoding="utf-8").partition("## Questions that come first")
)
LINKS = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", ROWS)


def test_each_of_the_twelve_questions_has_a_link():
    rows = [line for line in ROWS.splitlines() if line.startswith("| ") and "?" in line]
    assert len(rows) == 12
    assert [row for row in rows if "](" not in row] == []


@pytest.mark.parametrize(("page", "section"), sorted({*LINKS}))
def test_a_link_of_a_question_leads_to_its_section(page, section):
    if page == "results/papers.md":  # made with the site
        return
    text = (DOCS / page).read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    slugs = {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    assert not section or section in slugs
