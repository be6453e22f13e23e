"""Pages that are included from elsewhere: every link of theirs leads somewhere on the site."""

import re

import pytest

from tests.unit.docs.conftest import DOCS


@pytest.fixture
def pages(docs_module):
    return docs_module("included_pages")


def test_every_page_of_results_is_included_with_its_figures(pages):
    made, figures = pages.included_pages()
    assert set(pages.RESULTS.values()) <= set(made)
    assert len(figures) >= 10
    assert all(file.is_file() for file in figures.values())
    for page, text in made.items():
        for shown in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            assert f"{page.rpartition('/')[0]}/{shown}" in figures


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[A](https://a.org/b)", "[A](https://a.org/b)"),
        ("[A](#here)", "[A](#here)"),
        ("[TreLM](../trelm/README.md#x)", "[TreLM](../trelm/index.md#x)"),
        ("[home](../../docs/index.md)", "[home](../../index.md)"),
        ("[`1.sh`](1.sh)", "`1.sh`"),
        ("`[not a link](x)`", "`[not a link](x)`"),
    ],
)
def test_links_of_a_readme_lead_to_pages_or_become_text(pages, link, becomes):
    source, page = "examples/analysis/README.md", "results/analysis/index.md"
    assert pages.relink(link, source, page, {}) == becomes


def test_a_figure_is_shown_from_beside_the_page(pages):
    files = {}
    source = "examples/analysis/README.md"
    text = pages.relink("![F](plots/a.svg)", source, "results/analysis/index.md", files)
    assert text == "![F](a.svg)"
    expected = DOCS.parent / "examples" / "analysis" / "plots" / "a.svg"
    assert files == {"results/analysis/a.svg": expected}
