"""The documentation builds as a site, where dead links and missing pages are errors."""

import os
import subprocess
import sys

import pytest

from tests.end_to_end.engine import environment
from tests.end_to_end.pages import DOCS, ROOT

pytestmark = pytest.mark.slow
pytest.importorskip("mkdocs", reason="the extra `docs` is not installed; `make docs` installs it")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    env = {**environment(), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site):
    for page in DOCS.rglob("*.md"):
        if page.name == "rows.md":  # a table for the tests
            continue
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()
    for made in ("reference/verbs/map", "reference/registries", "results/trelm/index"):
        assert (site / f"{made}.html").is_file()
    assert not list(site.rglob("*.py")) and not (site / "contributing" / "rows.html").exists()


def test_a_page_needs_no_network(site):
    for page in ("index.html", os.path.join("reference", "python.html")):
        text = (site / page).read_text(encoding="utf-8")
        assert 'src="http' not in text
        assert 'stylesheet" href="http' not in text
