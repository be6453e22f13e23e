"""Token files, read by fairseq as well, and text stored in them."""

import os
import pickle
import struct

import numpy as np
import pytest
from fairseq.data.indexed_dataset import MMapIndexedDataset, best_fitting_int_dtype
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_xling.core.errors import UserError
from fairseq_xling.data import mmap
from fairseq_xling.data.mmap import (
    RAW_DTYPE,
    RawText,
    TokenFile,
    best_dtype,
    raw_text_block,
    write_index,
    write_items,
)

ITEMS = [np.array(x) for x in ([6, 7, 2], [2], [], [65000, 9, 8, 2])]


@pytest.fixture
def written(tmp_path):
    write_items(tmp_path / "x", ITEMS, np.dtype("<u2"))
    return tmp_path / "x"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("dtype", ["<u2", "<i4", "<u4", "<i8"])
def test_fairseq_reads_what_we_write(tmp_path, dtype):
    write_items(tmp_path / "x", ITEMS, np.dtype(dtype))
    theirs, ours = MMapIndexedDataset(str(tmp_path / "x")), TokenFile(tmp_path / "x")
    assert len(theirs) == len(ours) == len(ITEMS)
    assert theirs.sizes.tolist() == ours.sizes.tolist() == [3, 1, 0, 4]
    for i, item in enumerate(ITEMS):
        assert theirs[i].tolist() == ours[i].tolist() == item.tolist()
        assert ours[i].dtype == np.int64


@pytest.mark.parametrize("size", [6, 65499, 65500, 70000])
def test_values_are_as_wide_as_fairseq_makes_them(size):
    assert best_dtype(size).itemsize == np.dtype(best_fitting_int_dtype(size)).itemsize


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_an_index_of_sizes_on_disk_is_that_of_sizes_in_memory(tmp_path_factory, sizes, piece):
    folder = tmp_path_factory.mktemp("index")
    array = np.array(sizes, dtype="<i4")
    array.tofile(folder / "sizes")
    write_index(folder / "a", array, np.dtype("<u2"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mmap, "_PIECE", piece)
        write_index(folder / "b", folder / "sizes", np.dtype("<u2"))
    assert (folder / "a.idx").read_bytes() == (folder / "b.idx").read_bytes()


def test_a_block_is_its_items_back_to_back(written):
    file = TokenFile(written)
    ids, sizes = file.block(1, 9)
    assert ids.tolist() == [2, 65000, 9, 8, 2] and sizes.tolist() == [1, 0, 4]
    ids, sizes = file.block(4, 9)
    assert ids.tolist() == [] and sizes.tolist() == []
    ids[:] = 0
    assert file[1].tolist() == [2]


def test_items_are_copies_and_the_file_travels_as_its_path(written):
    file = pickle.loads(pickle.dumps(TokenFile(written)))
    file[0][:] = 0
    assert file[0].tolist() == [6, 7, 2]


def test_an_empty_file_is_fine(tmp_path):
    write_items(tmp_path / "x", [], np.dtype("<u2"))
    file = TokenFile(tmp_path / "x")
    assert len(file) == 0 and len(file.tokens) == 0
    assert [len(x) for x in file.block(0, 5)] == [0, 0]


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    def items():
        yield np.array([1, 2])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_items(tmp_path / "x", items(), np.dtype("<u2"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".bin", ".idx"])
def test_a_missing_half_is_named(written, suffix):
    written.with_suffix(suffix).unlink()
    with pytest.raises(UserError, match=rf"x\{suffix}: no such file"):
        TokenFile(written)


@pytest.mark.parametrize(
    ("suffix", "damage", "message"),
    [
        (".idx", lambda data: b"", "not an index of fairseq's mmap format"),
        (".idx", lambda data: b"TNTIDX" + data[6:], "not an index of fairseq's mmap format"),
        (".idx", lambda data: data[:-1], "damaged index"),
        (".idx", lambda data: data[:17] + b"\x63" + data[18:], "damaged index"),
        (".bin", lambda data: data[:-1], r"15 bytes, but its index counts 16"),
        (".bin", lambda data: data + b"ab", r"18 bytes, but its index counts 16"),
    ],
)
def test_a_damaged_file_is_refused_when_it_is_opened(written, suffix, damage, message):
    path = written.with_suffix(suffix)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=message):
        TokenFile(written)


def _index(sizes, offsets, version=1, code=8):
    """The bytes of an index of two-byte values."""
    header = struct.pack("<9sQBQ", b"MMIDIDX\x00\x00", version, code, len(sizes))
    return header + np.array(sizes, "<i4").tobytes() + np.array(offsets, "<i8").tobytes()


# The items of `ITEMS` have 3, 1, 0 and 4 values and begin at bytes 0, 6, 8 and 8.
@pytest.mark.parametrize("block", [1, 2, 100])
@pytest.mark.parametrize(
    ("index", "message"),
    [
        (_index([3, -5, 6, 4], [0, 6, -4, 8]), "item 2 has -5 values at byte 6"),
        (_index([3, 2**31 - 1, 0, 4], [0, 6, 8, 8]), "item 3 has 0 values at byte 8, after 4294"),
        (_index([3, 1, 0, 4], [0, -6, 8, 8]), "item 2 has 1 values at byte -6, after 6 bytes"),
        (_index([3, 1, 0, 4], [0, 6, 2**62, 8]), "item 3 has 0 values at byte 461168"),
        (_index([3, 1, 0, 4], [2, 6, 8, 8]), "item 1 has 3 values at byte 2, after 0 bytes"),
        (_index([3, 1, 0, 4], [0, 6, 8, 8], version=2), "version must be 1, got 2"),
    ],
)
def test_an_index_whose_items_are_not_back_to_back_is_refused(
    written, monkeypatch, index, message, block
):
    monkeypatch.setattr(mmap, "_ITEMS", block)
    good = _index([3, 1, 0, 4], [0, 6, 8, 8])
    assert written.with_suffix(".idx").read_bytes() == good
    written.with_suffix(".idx").write_bytes(index)
    with pytest.raises(UserError, match=message):
        TokenFile(written)


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        ([[6, 7, 2], [2], [65000, 9, 8, 2]], "<u2", "sentence 3 has id 65000, but dict.txt has on"),
        ([[9, 2], [10, 2], [11, 2]], "<i4", "sentence 2 has id 10, but dict.txt has only 10; the"),
        ([[9, 2], [3, -1]], "<i4", "sentence 2 has id -1, but dict.txt has only 10; the file is"),
        ([[9, 2], [], [3, 2]], "<u2", "sentence 2 is empty; prepare the folder"),
        ([[2], [2], [2]], "<u2", "has no token but </s>; prepare the folder"),
    ],
)
def test_the_first_sentence_that_is_damaged_is_named(
    tmp_path, monkeypatch, values, dtype, message, block
):
    monkeypatch.setattr(mmap, "_BLOCK", block)
    write_items(tmp_path / "x", [np.array(item, dtype=int) for item in values], np.dtype(dtype))
    file = TokenFile(tmp_path / "x")
    with pytest.raises(UserError) as refused:
        file.check_sentences(10, "dict.txt")
    assert str(refused.value).startswith(f"{tmp_path}/x.bin: {message}")


WORDS = st.lists(st.integers(0, 6), min_size=1, max_size=4)


@given(st.lists(st.tuples(WORDS, st.sampled_from([2, 2, 2, 3])), max_size=8), st.integers(1, 5))
@settings(max_examples=120, deadline=None)
def test_the_first_sentence_without_an_end_or_with_one_inside_is_that_of_a_slow_search(
    tmp_path_factory, sentences, block
):
    path = tmp_path_factory.mktemp("sentences") / "x"
    sentences = [[*words, end] for words, end in sentences]
    write_items(path, sentences, np.dtype("<u2"))
    open_ended = [n for n, words in enumerate(sentences, 1) if words[-1] != 2]
    inside = [n for n, words in enumerate(sentences, 1) if min(words[:-1]) <= 2]
    message = ""
    if open_ended:
        message = rf"sentence {open_ended[0]} does not end in </s>; prepare the folder"
    elif inside:
        value = next(x for x in sentences[inside[0] - 1] if x <= 2)
        message = rf"sentence {inside[0]} must have {('<s>', '<pad>', '</s>')[value]} only"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mmap, "_BLOCK", block)
        if not message:
            TokenFile(path).check_sentences(7, "dict.txt")
            return
        with pytest.raises(UserError, match=rf"x\.bin: {message}"):
            TokenFile(path).check_sentences(7, "dict.txt")


def test_sentences_are_read_once_until_the_file_changes(tmp_path, monkeypatch):
    write_items(tmp_path / "x", [[6, 7, 2], [8, 2]], np.dtype("<u2"))
    reads, real = [], mmap._blocks
    monkeypatch.setattr(mmap, "_blocks", lambda path, *a: reads.append(path) or real(path, *a))
    for limit in (10, 10, 1 << 16):
        TokenFile(tmp_path / "x").check_sentences(limit, "dict.txt")
    index, data = tmp_path / "x.idx", tmp_path / "x.bin"
    assert reads == [index, index, data]  # the index's sizes and offsets
    os.utime(data, ns=(0, 0))
    TokenFile(tmp_path / "x").check_sentences(10, "dict.txt")
    assert reads[3:] == [data]


def test_sentences_of_any_script_come_back(tmp_path):
    lines = ["  Ωmega\tund\u2028Äpfel ", "狗在跑。", "🐕", "a\r"]
    values, sizes = raw_text_block(lines)
    write_items(tmp_path / "x", np.split(values, np.cumsum(sizes)[:-1]), RAW_DTYPE)
    text = RawText(tmp_path / "x")
    assert [text[i] for i in range(len(text))] == ["Ωmega und Äpfel", *lines[1:3], "a"]


def test_sentences_of_a_folder_from_elsewhere_forge_no_line_and_move_no_terminal(tmp_path):
    texts = ["a\nT-9\tforged", "\x1b[2Jb\x07", "c\u202ed\u2029e\x9b2J"]
    values = [np.frombuffer(text.encode(), dtype=RAW_DTYPE) for text in texts]
    write_items(tmp_path / "x", values, RAW_DTYPE)
    text = RawText(tmp_path / "x")
    expected = ["a T-9 forged", r"\x1b[2Jb\x07", r"c\u202ed e\x9b2J"]
    assert [text[i] for i in range(3)] == expected


def test_half_a_character_is_named_with_its_sentence(tmp_path):
    write_items(tmp_path / "x", [np.array([97]), np.array([0xC3])], RAW_DTYPE)
    with pytest.raises(UserError, match=r"x\.bin: sentence 2 is not UTF-8; prepare"):
        RawText(tmp_path / "x")[1]
