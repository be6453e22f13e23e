"""What `extract` wrote is read back as it is, and anything else is refused in one line."""

import numpy as np
import pytest
import torch

from fairseq_xling.analysis import extracted as module
from fairseq_xling.analysis.extracted import Extracted, check_same_rows, common_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from tests.extracted_folder import write_extracted


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.fixture
def folder(tmp_path):
    return write_extracted(tmp_path / "x", {0: normal(10, 3), 2: normal(10, 3, seed=1)}, lang="de")


@pytest.mark.parametrize("block", [3, 5, 100])
def test_blocks_are_the_rows_in_their_order(folder, monkeypatch, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    found = Extracted(folder)
    assert (found.unit, found.lang, found.layers) == ("sentences", "de", (0, 2))
    assert (found.rows, found.width) == (10, 3)
    for layer, seed in ((0, 0), (2, 1)):
        expected = torch.from_numpy(normal(10, 3, seed=seed))
        blocks = list(found.blocks(layer))
        assert torch.equal(torch.cat(blocks), expected) and len(blocks[0]) == min(block, 10)
        assert torch.equal(found.whole(layer), expected)


def test_half_precision_comes_as_float32(tmp_path):
    found = Extracted(write_extracted(tmp_path / "x", {1: normal(4, 2)}, dtype="float16"))
    assert found.whole(1).dtype == torch.float32
    torch.testing.assert_close(found.whole(1), torch.from_numpy(normal(4, 2)), atol=1e-3, rtol=1e-3)


def test_nan_and_infinity_are_named_with_file_and_row(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 4)
    for value in (np.nan, np.inf):
        rows = normal(10, 3)
        rows[6, 1] = value
        found = Extracted(write_extracted(tmp_path / "x", {1: rows}))
        with pytest.raises(UserError, match=r"layer01.npy: must be finite, got NaN .* in row 6$"):
            found.whole(1)


def test_a_folder_that_extract_did_not_write_is_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty: not a folder that `fairseq-xling extract` wrote"):
        Extracted(tmp_path / "empty")
    write_json(folder / "meta.json", {"settings": {"unit": "types", "lang": "de", "layers": 3}})
    with pytest.raises(UserError, match="not a folder that `fairseq-xling extract` wrote"):
        Extracted(folder)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("rows", -10, "`rows` must be a whole number of at least 0, got -10"),
        ("width", 3.5, "`width` must be a whole number of at least 0, got 3.5"),
        ("layers", [-1], "`layers` must be a whole number of at least 0, got -1"),
        ("layers", [0, 0], "`layers` must increase, got 0,0"),
    ],
)
def test_counts_and_layers_that_cannot_be_are_named(folder, place, value, message):
    meta = read_json(folder / "meta.json")
    (meta["settings"] if place == "layers" else meta)[place] = value
    write_json(folder / "meta.json", meta)
    with pytest.raises(UserError) as error:
        Extracted(folder)
    assert str(error.value) == f"{folder}/meta.json: {message}"


def test_words_stand_for_rows(tmp_path, folder):
    words = [f"w{n}" for n in range(10)]
    found = Extracted(write_extracted(tmp_path / "types", {0: normal(10, 3)}, words=words))
    assert found.words == words
    (tmp_path / "types" / "words.txt").write_text("w0\n")
    with pytest.raises(UserError, match=r"words.txt: must have 10 lines, one for each row, got 1"):
        _ = Extracted(tmp_path / "types").words
    with pytest.raises(UserError, match=r"x: has no words, its rows are sentences; extract with"):
        _ = Extracted(folder).words


def test_sentences_without_words_are_named_by_their_line(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 4)
    Extracted(folder).check_sentences()
    rows = normal(10, 3)
    rows[5] = 0
    blank = Extracted(write_extracted(tmp_path / "blank", {0: rows}))
    with pytest.raises(
        UserError, match=r"blank: line 6 of its text is blank, or has no word that the voc"
    ):
        blank.check_sentences()
    types = Extracted(write_extracted(tmp_path / "types", {0: rows}, words="abcdefghij"))
    with pytest.raises(UserError, match=r"types: must contain sentences, got types; extract with"):
        types.check_sentences()


def test_rows_that_do_not_pair_up_are_refused(tmp_path, folder):
    x = Extracted(folder)
    check_same_rows(x, Extracted(write_extracted(tmp_path / "y", {0: normal(10, 7)})))
    y = Extracted(write_extracted(tmp_path / "y", {0: normal(9, 3)}))
    with pytest.raises(UserError, match=r"x and .*y: must have equally many rows, got 10 and 9"):
        check_same_rows(x, y)
    a = Extracted(write_extracted(tmp_path / "a", {0: normal(3, 2)}, words=["a", "b", "c"]))
    b = Extracted(write_extracted(tmp_path / "b", {0: normal(3, 2)}, words=["a", "c", "b"]))
    with pytest.raises(UserError, match=r"of the same words, got 'b' and 'c' in row 1; extract"):
        check_same_rows(a, b)
    with pytest.raises(UserError, match=r"of the same unit, got sentences and types"):
        check_same_rows(x, a)
    for name, sizes in (("s", [2, 1]), ("t", [1, 2])):
        write_extracted(tmp_path / name, {0: normal(3, 2)}, unit="tokens")
        np.save(tmp_path / name / "sentences.npy", np.array(sizes))
    with pytest.raises(UserError, match=r"their texts were split into different subwords"):
        check_same_rows(Extracted(tmp_path / "s"), Extracted(tmp_path / "t"))


def test_layers_are_all_or_those_named(tmp_path, folder):
    x = Extracted(folder)
    y = Extracted(write_extracted(tmp_path / "y", {n: normal(10, 3) for n in (0, 1, 2)}))
    assert common_layers(x, x, None) == common_layers(x, x, "all") == (0, 2)
    assert common_layers(x, y, "0,2") == (0, 2)
    with pytest.raises(UserError, match=r"layers differ, 0,2 and 0,1,2; name those to compare"):
        common_layers(x, y, None)
    with pytest.raises(UserError, match=r"`--layers` 0-2: .*x has layers 0,2, not 1"):
        common_layers(x, y, "0-2")
    with pytest.raises(UserError, match=r"`--layers` must lie in \[0, 2\], got '7'"):
        common_layers(x, y, "7")
