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
    made = page.read_text(encoding="utf-8")
    emptied = made
    for kept in (copy / "results").iterdir():
        begin, heading, rest = emptied.partition(f"\n## {kept.stem}\n")
        assert heading, kept.stem
        _, following, others = rest.partition("\n## ")
        emptied = f"{begin}{heading}\nsomething else\n{following}{others}"
    page.write_text(emptied, encoding="utf-8")
    done = launch([sys.executable, str(folder / "make_readme.py"), "--output", str(page)])
    assert done.returncode == 0, done.stderr
    assert page.read_text(encoding="utf-8") == made


@pytest.mark.parametrize("folder", ("clcr", "transfer"))
def test_differences_are_tested_over_seeds_under_every_kept_result(folder):
    page = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    for kept in sorted((EXAMPLES / folder / "results").glob("*.json")):
        section = page.partition(f"## {kept.stem}\n")[2].partition("\n## ")[0]
        assert re.search(TESTED, section), kept.stem
