"""Writing pivots: what is found, what lies on disk, and going on after a kill.

Gold pivots from a word alignment, beside pseudo-gold ones.
"""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from examples.clcr.gold_pivots import write_gold
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.papers.clcr import labels as label
from fairseq_xling.papers.clcr.labels import Labels
from tests.toy_clcr import toy, toy_pairs

COUNT = 23
SETTINGS = {"pair": ["en", "de"], "threshold": 0.5}


@pytest.fixture(scope="module")
def model():
    return toy()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(label, "BLOCK", 5)


@pytest.fixture
def text(tmp_path):
    """Both sides as token files, and the gold links."""
    first, second, links = toy_pairs(COUNT)
    for name, items in (("en", first), ("de", second)):
        write_items(tmp_path / name, items, np.dtype("<u2"))
    return (TokenFile(tmp_path / "en"), TokenFile(tmp_path / "de")), links


def write(model, text, output, **changes):
    return label.write_labels(model, text, output, {**SETTINGS, **changes}, 64)


def read_links(folder):
    lines = (folder / "pivots.pharaoh").read_text().splitlines()
    return [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines]


def test_planted_pairs_are_all_found_and_training_reads_the_same(model, text, tmp_path):
    sides, links = text
    meta = write(model, sides, tmp_path / "labels")
    assert read_links(tmp_path / "labels") == links
    assert meta["pivots"] == sum(map(len, links)) and meta["sentences"] == COUNT
    distances = np.load(tmp_path / "labels" / "distances.npy")
    assert len(distances) == meta["pivots"] and (distances < 1e-3).all()
    order = Labels(tmp_path / "labels").order(sides, ("en", "de"))
    found = [sorted((int(i) - 1, j) for j, i in enumerate(order[row]) if i) for row in range(COUNT)]
    assert found == links


def test_a_higher_threshold_keeps_all_that_a_lower_one_does(model, text, tmp_path):
    kept = []
    for number, threshold in enumerate((0.0, 0.5, 6.0, 8.0, 1e9)):
        output = tmp_path / f"labels{number}"
        write(model, text[0], output, threshold=threshold)
        kept.append({(n, *x) for n, line in enumerate(read_links(output)) for x in line})
    assert all(low <= high for low, high in itertools.pairwise(kept))
    assert len(kept[0]) == 0 < len(kept[1]) < len(kept[-1])
    assert not Labels(tmp_path / "labels0").order(text[0], ("en", "de")).tokens.any()


class Killed(Exception):
    pass


def assert_same(folder, other):
    for file in folder.iterdir():
        assert file.read_bytes() == (other / file.name).read_bytes(), file.name


def test_killed_in_between_it_goes_on_and_ends_in_the_same_bytes(model, text, tmp_path):
    calls = iter([model.batches, model.batches])

    def batches(*given):
        if call := next(calls, None):
            return call(*given)
        raise Killed

    dying = SimpleNamespace(pivots=model.pivots, batches=batches)
    write(model, text[0], tmp_path / "whole")
    with pytest.raises(Killed):
        write(dying, text[0], tmp_path / "labels")
    assert not (tmp_path / "labels").exists()
    write(model, text[0], tmp_path / "labels")
    assert_same(tmp_path / "whole", tmp_path / "labels")
    assert {f.name for f in (tmp_path / "labels").iterdir()} == {
        *("pivots.pharaoh", "distances.npy", "order.bin", "order.idx", "meta.json")
    }


def test_killed_at_any_deletion_it_ends_in_the_same_bytes(model, text, tmp_path, monkeypatch):
    write(model, text[0], tmp_path / "whole")
    unlink, times = Path.unlink, 0
    while True:
        output, left = tmp_path / f"labels{times}", [times]

        def dies(path, *given, left=left, **more):
            if path.name.startswith("settings"):  # last of all, beside the folder's new name
                return unlink(path, *given, **more)
            left[0] -= 1
            unlink(path, *given, **more)
            if left[0] < 0:
                raise Killed

        monkeypatch.setattr(Path, "unlink", dies)
        try:
            write(model, text[0], output)
            break
        except Killed:
            times += 1
        monkeypatch.setattr(Path, "unlink", unlink)
        write(model, text[0], output)
        assert_same(tmp_path / "whole", output)
    assert times >= 4


def test_a_folder_of_other_settings_or_text_is_refused(model, text, tmp_path):
    write(model, text[0], tmp_path / "labels")
    with pytest.raises(UserError, match="must be new; it contains something else"):
        write(model, text[0], tmp_path / "labels", threshold=0.6)
    labels = Labels(tmp_path / "labels")
    with pytest.raises(UserError, match="its pairs are of en-de, not of de-en"):
        labels.order(text[0], ("de", "en"))
    with pytest.raises(UserError, match="was made from other text"):
        labels.order(text[0][::-1], ("en", "de"))
    ids = np.fromfile(tmp_path / "labels/order.bin", labels.order(text[0], ("en", "de")).dtype)
    third = int(text[0][1].sizes[:2].sum())
    ids[third] = text[0][0].sizes[2] + 1
    ids.tofile(tmp_path / "labels/order.bin")
    with pytest.raises(UserError, match=r"order.bin: sentence 3 has a pivot at token \d+ of the"):
        labels.order(text[0], ("en", "de"))
    with pytest.raises(UserError, match="no pivots; `fairseq-xling clcr label` writes them"):
        Labels(tmp_path / "none")


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
