"""The commands of the pages in docs/tutorials run as they stand."""

import pytest

from tests.end_to_end.pages import folder_of, pages, parameters

# What a reader has at the end of each.
LEAVES = {
    "tutorials/train.md": ["encoder/checkpoint_best.pt", "eval.json", "pages/eval.html"],
    "tutorials/migrate.md": ["migration/report.html"],
    "tutorials/analyse.md": ["tatoeba.svg", "pages/cka.html", "words-en-mapped/meta.json"],
    "tutorials/transfer.md": ["parsed", "transfer-pos/plot.svg", "transfer-pos/report.html"],
    "tutorials/clcr.md": ["clcr/results.json", "conditions.json", "conditions.svg"],
}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("page", parameters(pages("tutorials")))
def test_every_command_of_a_tutorial_runs(page, pages_root):
    folder = folder_of(page, pages_root)
    assert [name for name in LEAVES[page.name] if not (folder / name).exists()] == []
