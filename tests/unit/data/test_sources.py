import pickle

import numpy as np
import pytest

from fairseq_xling.data.folder import CLS, SEP, DataFolder
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.data.sources import Pairs, Sentences, Stream, frame_order


@pytest.fixture
def folder(tiny_corpus):
    return DataFolder(tiny_corpus.path)


def all_rows(source):
    return [source[i] for i in range(len(source))]


@pytest.fixture(params=["sentences", "stream", "pairs"])
def source(request, folder):
    if request.param == "sentences":
        return Sentences(folder.mono("train", "en"), "en", 7)
    if request.param == "stream":
        return Stream(folder.mono("train", "en"), "en", 7)
    sides = folder.parallel("train", "en", "de")
    return Pairs(*sides, ("en", "de"), 7, folder.order("train", "en", "de"))


def test_lengths_are_known_without_reading_and_right(source):
    rows = all_rows(source)
    longest = [max(len(s.tokens) for s in (row.source, row.target) if s) for row in rows]
    assert source.lengths(np.arange(len(source))).tolist() == longest
    assert max(longest) == 7  # the limit is reached


def test_every_row_begins_with_cls_and_has_its_languages(source):
    for row in all_rows(source):
        sides = [side for side in (row.source, row.target) if side is not None]
        assert tuple(side.lang for side in sides) == source.languages
        for side in sides:
            assert side.tokens[0] == CLS and side.tokens.dtype == np.int64


def test_a_source_travels_to_a_loader_worker(source):
    copy = pickle.loads(pickle.dumps(source))
    assert copy[3].source.tokens.tolist() == source[3].source.tokens.tolist()


def test_a_sentence_is_cls_its_words_and_sep(folder, tiny_corpus):
    source = Sentences(folder.mono("train", "de"), "de", 64)
    expected = [[CLS, *sentence, SEP] for sentence in tiny_corpus.mono["train"]["de"]]
    assert [row.source.tokens.tolist() for row in all_rows(source)] == expected
    assert source.num_tokens == sum(map(len, expected))
    assert source.num_sentences == len(source) == len(expected)


def test_a_long_sentence_is_cut_and_keeps_its_sep(folder, tiny_corpus):
    source = Sentences(folder.mono("train", "en"), "en", 6)
    for row, sentence in zip(all_rows(source), tiny_corpus.mono["train"]["en"], strict=True):
        assert row.source.tokens.tolist() == [CLS, *sentence[:4], SEP]


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


def test_pairs_hold_both_sides_and_the_alignment_between_framed_positions(folder, tiny_corpus):
    order = folder.order("train", "en", "de")
    source = Pairs(*folder.parallel("train", "en", "de"), ("en", "de"), 64, order)
    to_english = dict(zip(tiny_corpus.ids["de"], tiny_corpus.ids["en"], strict=True))
    for row, (en, de) in zip(all_rows(source), tiny_corpus.pairs["train"], strict=True):
        assert row.source.tokens.tolist() == [CLS, *en, SEP]
        assert row.target.tokens.tolist() == [CLS, *de, SEP]
        words = [to_english.get(token, token) for token in row.target.tokens.tolist()]
        assert row.source.tokens[row.order].tolist() == words
    assert source.num_tokens == sum(len(en) + len(de) + 4 for en, de in tiny_corpus.pairs["train"])


def test_links_to_words_that_were_cut_off_are_none(folder, tiny_corpus):
    order = folder.order("train", "en", "de")
    source = Pairs(*folder.parallel("train", "en", "de"), ("en", "de"), 6, order)
    seen_cut = False
    for row, (en, _) in zip(all_rows(source), tiny_corpus.pairs["train"], strict=True):
        assert len(row.order) == len(row.target.tokens)
        assert row.order[0] == 0 and row.order[-1] == len(row.source.tokens) - 1
        for u in range(1, len(row.order) - 1):
            planted = len(en) - u  # framed: word u of the German is word n + 1 - u of the English
            expected = planted + 1 if planted < 4 or len(en) <= 4 else -1
            assert row.order[u] == expected
            seen_cut |= expected == -1
    assert seen_cut


def test_a_pair_without_an_alignment_has_no_order(folder):
    source = Pairs(*folder.parallel("train", "en", "de"), ("en", "de"), 6)
    assert source[0].order is None


def test_a_word_aligned_with_nothing_is_minus_one():
    assert frame_order(np.array([0, 0, 3]), 4, 4).tolist() == [0, -1, -1, 3]


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
    import tracemalloc

    from fairseq_xling.data.mmap import write_index

    count = 2_000_000
    (tmp_path / "a.bin").write_bytes(b"\x02\x00" * count)
    write_index(tmp_path / "a", np.ones(count, dtype="<i4"), np.dtype("<u2"))
    tracemalloc.start()
    source = Sentences(TokenFile(tmp_path / "a"), "en", 64)
    assert source.num_truncated() == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < count
