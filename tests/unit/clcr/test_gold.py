"""Gold pivots from a word alignment, beside pseudo-gold ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_xling.clcr.gold import write_gold
from fairseq_xling.clcr.labels import Labels
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json

# Two pairs of sentences of 3 and 4 tokens, </s> not counted: a token and two, crossing; then one
# block of two and two, and a token without a link.
LINKS = [[(0, 2), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]]
SIZES = [4, 5]
ORDER, INT = "order", np.dtype("<i4")


def items(links, size=5):
    found = [np.zeros(size, dtype=INT) for _ in links]
    for line, row in zip(found, links, strict=True):
        for source, target in row:
            line[target] = source + 1
    return found


@pytest.fixture
def folder(tmp_path):
    """A data folder with one direction of the alignment; the other has nothing more."""
    both = [np.zeros((2, size), dtype=INT) for size in SIZES]
    for name, rows in zip(("en", "de"), both, strict=True):
        write_items(tmp_path / name, rows, INT)
    write_items(tmp_path / "forth", items(LINKS), INT)
    back = [[(j, i) for i, j in row] for row in LINKS]
    write_items(tmp_path / "back", items(back, 4), INT)
    files = {("en", "de"): "forth", ("de", "en"): "back"}
    return SimpleNamespace(
        parallel=lambda split, *pair: tuple(TokenFile(tmp_path / name) for name in pair),
        is_aligned=lambda split, *pair: True,
        order=lambda split, *pair: TokenFile(tmp_path / files[pair]),
    )


def labels(tmp_path, pivots):
    output = tmp_path / "labels"
    settings = {"pair": ["en", "de"], "split": "valid", "threshold": 1.0}
    write_json(output / "meta.json", {"settings": settings, "pivots": 1, "sentences": 2})
    write_items(output / ORDER, items(pivots), INT)
    return output


@pytest.mark.row("C7", "C10")
def test_a_block_is_stood_for_by_the_pivot_that_lies_in_it_else_by_its_first_link(folder, tmp_path):
    pivots = [[(1, 1), (2, 3)], [(1, 0)]]  # right, in no block, right though not a link
    shares = write_gold(folder, labels(tmp_path, pivots), tmp_path / "gold")
    assert shares == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})
    assert (tmp_path / "gold/pivots.pharaoh").read_text() == "0-2 1-1\n1-0\n"
    gold = Labels(tmp_path / "gold")
    order = gold.order(folder.parallel("valid", "en", "de"), ("en", "de"))
    assert [line.tolist() for line in (order[0], order[1])] == [[0, 2, 1, 0, 0], [2, 0, 0, 0, 0]]
    assert gold.pivots == 3


def test_without_pivots_every_block_is_missed(folder, tmp_path):
    shares = write_gold(folder, labels(tmp_path, [[], []]), tmp_path / "gold")
    assert shares == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert (tmp_path / "gold/pivots.pharaoh").read_text() == "0-2 1-0\n0-0\n"
    with pytest.raises(UserError, match="no pivots; `fairseq-xling clcr label` writes them"):
        write_gold(folder, tmp_path / "nothing", tmp_path / "other")
