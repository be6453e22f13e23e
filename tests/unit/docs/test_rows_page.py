"""The page of exact rows: every row and defect once, and whatever a line names is there."""

import ast
import re

import pytest

from tests.unit.docs.conftest import DOCS
from tests.unit.docs.result_links import LINK, absent_figures, sections

ROOT = DOCS.parent
PAGE = DOCS / "contributing" / "rows.md"
TEXT = re.sub(r"\n +", " ", PAGE.read_text(encoding="utf-8"))
TO_RESULTS = "../results/"


def rows():
    """The number, what is asked, and the lines of code, of tests and of the result of each row."""
    for part in TEXT.split("\n## ")[1:]:
        number, asks, items = part.strip().split("\n\n")
        found = {"Code": [], "Test": [], "Result": []}
        for item in items.splitlines():
            name, _, text = item.removeprefix("- ").partition(": ")
            found[name].append(text)
        ((code,), tests, (result,)) = found.values()
        yield number, asks.replace("\n", " "), code, tests, result.replace(TO_RESULTS, "")


ROWS = list(rows())
LINES = [pytest.param(*cells, id=cells[0]) for cells in ROWS]
ARGUMENTS = ("code", "asks", "modules", "tests", "result")


def test_every_row_that_is_not_withdrawn_is_there_once_in_order():
    assert [cells[0] for cells in ROWS] == [f"R{n}" for n in range(1, 31) if n not in (19, 28)]


@pytest.mark.parametrize(ARGUMENTS, LINES)
def test_every_line_says_what_it_asks_in_one_sentence_and_has_a_result(
    code, asks, modules, tests, result
):
    assert asks.endswith(".") and ". " not in asks
    known = ("No run yet", "no run yet", "The test is its result")
    assert result.endswith(".") and (LINK.search(result) or any(one in result for one in known))


@pytest.mark.parametrize(ARGUMENTS, LINES)
def test_every_module_of_a_line_exists(code, asks, modules, tests, result):
    named = re.findall(r"`([^`]+)`", modules)
    assert named and ", ".join(f"`{name}`" for name in named) == modules
    for name in named:
        path = ROOT / "fairseq_xling" / name
        assert path.is_dir() if name.endswith("/") else path.is_file(), name


def is_slow(node):
    """Whether a test, or all of its file (``pytestmark = ...``), is marked as slow."""
    marks = node.decorator_list if isinstance(node, ast.FunctionDef) else [node.value]
    return any(ast.unparse(mark) == "pytest.mark.slow" for mark in marks)


def slow_by_name(path):
    """Of each test of a file, whether it is slow."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    marks = [
        node
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return {
        node.name: any(map(is_slow, [node, *marks]))
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize(ARGUMENTS, LINES)
def test_every_test_of_a_line_exists_and_is_called_slow_if_it_is(
    code, asks, modules, tests, result
):
    for one in tests:
        named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`( \(slow\))?", one)
        assert named, one
        found = slow_by_name(ROOT / "tests" / named[1])
        assert found[named[2]] == bool(named[3]), one


def test_anchors_are_made_of_letters_and_numbered_if_they_come_twice():
    text = "# Table 1, de to en: what\n\n## a_b-c\nfirst\n\n## a_b-c\nsecond\n"
    assert list(sections(text)) == ["table-1-de-to-en-what", "a_b-c", "a_b-c_1"]
    assert sections(text)["a_b-c_1"] == "a_b-c\nsecond\n"


def test_every_link_of_the_page_leads_to_a_section_that_is_there(pages):
    links = LINK.findall(TEXT)
    assert len(links) > 10
    for link in links:
        name, _, anchor = link.removeprefix(TO_RESULTS).partition("#")
        assert anchor in sections(pages[name]), link


@pytest.mark.parametrize(ARGUMENTS, LINES)
def test_every_figure_of_a_line_with_a_link_is_in_the_linked_section(
    code, asks, modules, tests, result, pages
):
    assert list(absent_figures(result, pages)) == []


def test_every_file_of_results_that_a_line_names_is_there():
    files = re.findall(r"`(examples/[^`]+)`", TEXT)
    assert files and all((ROOT / file).is_file() for file in files)
