"""The README's commands run as they stand, in one empty folder, from top to bottom."""

import json
import re

import pytest

from fairseq_xling.command_line import verbs
from fairseq_xling.engine.compat import ENGINE_STEP
from tests.end_to_end.pages import Page, folder_of
from tests.records import value

PAGE = Page("README.md")


@pytest.mark.timeout(1500)
def test_every_command_of_the_readme_runs(pages_root):
    folder = folder_of(PAGE, pages_root)
    assert (folder / "eval.json").is_file()
    assert (folder / "migration" / "report.html").is_file()
    assert (folder / "bli.svg").is_file()
    assert (folder / "parser" / "predictions").is_dir()
    assert value(folder / "conditions.json", distance="matched", measure="AUC") > 0.6
    origin = json.loads((folder / "clcr" / "results.json").read_text())["provenance"]
    assert origin["command"].startswith("fairseq-xling clcr run --data apart")
    assert origin["inputs"]["model, seed 1"]["path"].startswith("clcr/models/order-rel-1/")
    made = {file.stem for file in (folder / "pages").glob("*.html")}
    assert made >= {"eval", "migration", "parser", "clcr", "conditions"}


def test_the_readme_is_short_and_all_of_it_runs():
    assert len(PAGE.text.splitlines()) <= 150
    assert len(PAGE.blocks()) == 6
    assert not [block for block in PAGE.blocks() if block.not_run]


def test_the_reference_names_every_verb_once():
    table = Page("reference/index.md").text.partition("| I want to")[2].partition("\n\n")[0]
    named = [name for line in table.splitlines() for name in re.findall(r"`([^`]+)`", line)]
    named = [name.replace(" ", "-") for name in named if "fairseq" not in name]
    assert sorted(named) == sorted(verbs())


def test_the_engine_step_of_the_readme_is_the_one_that_errors_print():
    assert ENGINE_STEP in PAGE.text
