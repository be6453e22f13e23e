"""Pages of the examples are what their committed results say."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTED = r"\(95 % interval .+\), paired t-test over \d+ seeds: p |\[[-+.\d]+, [-+.\d]+\], p [=<] "
KEPT = sorted(folder.parent for folder in EXAMPLES.glob("*/results"))


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_page_is_made_from_its_committed_results(folder, tmp_path):
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    page = copy / "README.md"
    name = next((copy / "results").iterdir()).stem
    made = page.read_text(encoding="utf-8")
    start = made.index(f"## {name}\n")
    page.write_text(made[:start] + f"## {name}\n\nsomething else\n", encoding="utf-8")
    done = launch([sys.executable, str(folder / "make_readme.py"), "--output", str(page)])
    assert done.returncode == 0, done.stderr
    following = made.find("\n## ", start + 1)
    section = made[start : following if following > 0 else None]
    assert section.rstrip() in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ("clcr", "emerging_structure", "transfer"))
def test_differences_are_tested_over_seeds_under_every_kept_result(folder):
    page = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    for kept in sorted((EXAMPLES / folder / "results").glob("*.json")):
        section = page.partition(f"## {kept.stem}\n")[2].partition("\n## ")[0]
        assert re.search(TESTED, section), kept.stem
