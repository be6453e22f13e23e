"""Counts and lengths of rows; what rows hold: `test_row_by_row.py`."""

import tracemalloc

import numpy as np
import pytest

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile, write_index, write_items
from fairseq_xling.data.sources import Pairs, Sentences, Stream


@pytest.fixture
def folder(tiny_corpus):
    return DataFolder(tiny_corpus.path)


def all_rows(source):
    return [source[i] for i in range(len(source))]


def test_lengths_are_known_without_reading_and_right(folder):
    file, sides = folder.mono("train", "en"), folder.parallel("train", "en", "de")
    for source in (Sentences(file, "en", 7), Stream(file, "en", 7), Pairs(*sides, ("en", "de"), 7)):
        rows = all_rows(source)
        longest = [max(len(s.tokens) for s in (row.source, row.target) if s) for row in rows]
        assert source.lengths(np.arange(len(source))).tolist() == longest
        assert max(longest) == 7  # the limit is reached


def test_sentences_and_tokens_are_counted(folder):
    sides = folder.parallel("train", "en", "de")
    for source in (Sentences(sides[1], "de", 64), Pairs(*sides, ("en", "de"), 64)):
        rows = [s for row in all_rows(source) for s in (row.source, row.target) if s]
        assert source.num_tokens == sum(len(side.tokens) for side in rows)
        assert source.num_sentences == len(source) == len(sides[0])


@pytest.mark.parametrize("block", [2, 7, 16, 10_000])
@pytest.mark.parametrize("lang", ["en", "de"])
def test_blocks_without_their_cls_are_the_corpus_of_one_language(folder, tiny_corpus, block, lang):
    source = Stream(folder.mono("train", lang), lang, block)
    rows = [row.source.tokens.tolist() for row in all_rows(source)]
    assert [token for row in rows for token in row[1:]] == tiny_corpus.stream("train", lang)
    assert {len(row) for row in rows[:-1]} <= {block}
    assert 2 <= len(rows[-1]) <= block
    assert source.num_tokens == sum(map(len, rows))
    other = {"en": "de", "de": "en"}[lang]
    assert not {token for row in rows for token in row} & set(tiny_corpus.ids[other])


def test_a_corpus_that_fills_its_blocks_exactly_has_no_empty_block(tmp_path):
    write_items(tmp_path / "a", [[6, 7, 2], [8, 9, 2]], "<u2")
    source = Stream(TokenFile(tmp_path / "a"), "en", 4)
    assert [row.source.tokens.tolist() for row in all_rows(source)] == [[0, 6, 7, 2], [0, 8, 9, 2]]


def test_cut_sentences_are_counted(folder, tiny_corpus):
    words = [len(s) for s in tiny_corpus.mono["train"]["en"]]
    sentences = Sentences(folder.mono("train", "en"), "en", 6)
    assert sentences.num_truncated() == sum(n > 4 for n in words) > 0
    assert Stream(folder.mono("train", "en"), "en", 6).num_truncated() == 0
    pairs = Pairs(*folder.parallel("train", "en", "de"), ("en", "de"), 6)
    assert pairs.num_truncated() == sum(
        (len(en) > 4) + (len(de) > 4) for en, de in tiny_corpus.pairs["train"]
    )


def test_opening_and_counting_holds_no_array_as_long_as_the_corpus(tmp_path):
    count = 2_000_000
    (tmp_path / "a.bin").write_bytes(b"\x02\x00" * count)
    write_index(tmp_path / "a", np.ones(count, dtype="<i4"), np.dtype("<u2"))
    tracemalloc.start()
    source = Sentences(TokenFile(tmp_path / "a"), "en", 64)
    assert source.num_truncated() == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < count
