"""What the pages of documentation must have, whether or not their commands run."""

import re

import pytest
import yaml

from tests.end_to_end.pages import DOCS, README, ROOT, Page

PAGES = [Page("README.md"), *(Page(str(p.relative_to(DOCS))) for p in sorted(DOCS.rglob("*.md")))]
_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
# Made while the site is built, by docs/hooks.py.
GENERATED = re.compile(
    r"reference/(verbs/[\w-]+|tasks|architectures|criterions|registries)\.md|"
    r"results/\w+/index\.md|results/papers\.md|explanation/architecture\.md|"
    r"project/(changelog|contributing|security)\.md"
)
# Why a block may not run, as the pages say it.
REASONS = {"needs two GPUs", "needs a cluster", "needs optimum"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_of_a_page_leads_somewhere(page):
    for link in _LINK.findall(page.text):
        if re.match(r"https?:|#", link):
            continue
        target = (page.path.parent / link.partition("#")[0]).resolve()
        inside = target.is_relative_to(DOCS) and page.path != README
        known = inside and GENERATED.fullmatch(str(target.relative_to(DOCS)))
        assert known or target.exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_begins_where_another_ends(page):
    if before := page.settings.get("starts_with"):
        assert (DOCS / before).is_file()
    assert set(page.settings) <= {"starts_with", "title", "hide"}


def test_few_blocks_are_not_run_and_each_says_why():
    left_out = [block for page in PAGES for block in page.blocks() if block.not_run]
    assert {block.not_run for block in left_out} == REASONS
    assert len(left_out) <= 4
    run = sum(not block.not_run for page in PAGES for block in page.blocks())
    assert run > 10 * len(left_out)


def test_every_file_that_the_table_of_papers_names_exists():
    table = (DOCS / "explanation" / "papers.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    paths = [path for line in rows for path in re.findall(r"`([\w/]+(?:\.py|/))`", line)]
    assert len(paths) > 60
    missing = [
        path for path in paths if not any((base / path).exists() for base in (ROOT, PACKAGE))
    ]
    assert not missing


PACKAGE = ROOT / "fairseq_xling"


def test_every_page_is_in_the_navigation():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = set(re.findall(r"[\w/-]+\.md", str(config["nav"])))
    written = {page.name for page in PAGES[1:] if not page.name.startswith("contributing/")}
    assert written <= named
    assert all((DOCS / name).is_file() or GENERATED.fullmatch(name) for name in named)
