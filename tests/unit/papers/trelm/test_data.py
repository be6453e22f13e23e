import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import write_items
from fairseq_xling.papers.trelm.data import (
    keep_pairs,
    keep_sentences,
    pairs_into_mono,
    with_translations,
)

PAIR = ["en", "de"]


def rows(file):
    return [tuple(file[i].tolist()) for i in range(len(file))]


def pairs_of(path):
    """The training pairs with their orders both ways, as tuples."""
    folder = DataFolder(path)
    files = [*folder.parallel("train", *PAIR), folder.order("train", *PAIR)]
    files.append(folder.order("train", *PAIR[::-1]))
    return list(zip(*map(rows, files), strict=True))


def test_a_smaller_subset_is_part_of_a_larger_one_and_keeps_the_order(tiny_corpus, tmp_path):
    whole = pairs_of(tiny_corpus.path)
    subsets = {}
    for count in (3, 8, 20):
        keep_pairs(tiny_corpus.path, tmp_path / str(count), PAIR, count, seed=1)
        subsets[count] = pairs_of(tmp_path / str(count))
        assert len(subsets[count]) == count
    for small, large in ((3, 8), (8, 20)):
        rest = iter(subsets[large])
        assert all(pair in rest for pair in subsets[small])  # in the same order, each once
    assert subsets[20] == whole


def test_a_pair_may_be_named_either_way_round(tiny_corpus, tmp_path):
    for name, pair, seed in (("a", PAIR, 1), ("b", PAIR[::-1], 1), ("c", PAIR, 2)):
        keep_pairs(tiny_corpus.path, tmp_path / name, pair, 5, seed)
    a, b, c = (pairs_of(tmp_path / name) for name in "abc")
    assert a == b != c  # another seed draws other pairs


def test_everything_else_stays_as_it_is(tiny_corpus, tmp_path):
    keep_pairs(tiny_corpus.path, tmp_path / "few", PAIR, 3, seed=1)
    before, after = DataFolder(tiny_corpus.path), DataFolder(tmp_path / "few")
    assert after.dictionary_digest("de") == before.dictionary_digest("de")
    assert rows(after.mono("train", "de")) == rows(before.mono("train", "de"))
    assert rows(after.parallel("test", *PAIR)[0]) == rows(before.parallel("test", *PAIR)[0])
    found = after.meta["parallel"]["train"]["en-de"]
    assert found["pairs"] == 3
    assert found["tokens"]["de"] == sum(len(pair[1]) for pair in pairs_of(tmp_path / "few"))
    assert before.meta["parallel"]["train"]["en-de"]["pairs"] == 20


def test_derived_folders_have_the_digests_of_what_they_changed(make_corpus, tmp_path):
    corpus = make_corpus(digests=True)
    keep_pairs(corpus.path, tmp_path / "few", PAIR, 3, seed=1)
    pairs_into_mono(corpus.path, tmp_path / "more", PAIR, "de")
    assert len(pairs_of(tmp_path / "few")) == 3
    assert len(DataFolder(tmp_path / "more").mono("train", "de")) == 30 + 20
    before = DataFolder(corpus.path).meta["files"]
    for name, changed in (("few", 8), ("more", 2)):
        after = DataFolder(tmp_path / name).meta["files"]
        assert set(after) == set(before)
        assert sum(after[file] != before[file] for file in before) == changed


def mono_of(path, lang):
    return rows(DataFolder(path).mono("train", lang))


def test_a_limit_of_sentences_concerns_the_named_languages_only(make_corpus, tmp_path):
    corpus = make_corpus(digests=True)
    whole = {lang: mono_of(corpus.path, lang) for lang in PAIR}
    for name, languages in (("both", PAIR), ("german", ["de"])):
        keep_sentences(corpus.path, tmp_path / name, languages, 7, seed=1, option="--x")
        for lang in PAIR:
            kept, rest = mono_of(tmp_path / name, lang), iter(whole[lang])
            assert len(kept) == (7 if lang in languages else len(whole[lang]))
            assert all(row in rest for row in kept)  # in the same order
        found = DataFolder(tmp_path / name).meta["mono"]["train"]["de"]
        tokens = sum(map(len, mono_of(tmp_path / name, "de")))
        assert (found["sentences"], found["tokens"]) == (7, tokens)
        assert pairs_of(tmp_path / name) == pairs_of(corpus.path)
        before, after = (DataFolder(p).meta["files"] for p in (corpus.path, tmp_path / name))
        assert sum(after[file] != before[file] for file in before) == 2 * len(languages)
    assert mono_of(tmp_path / "both", "de") == mono_of(tmp_path / "german", "de")


def test_more_than_there_is_is_an_error(tiny_corpus, tmp_path):
    message = "`--parallel-limit` must be at most the 20 pairs of .*, got 21"
    with pytest.raises(UserError, match=message):
        keep_pairs(tiny_corpus.path, tmp_path / "x", PAIR, 21, seed=1)
    message = "`--language-limit` must be at most the 30 sentences of 'de' in .*, got 31; 0 is all"
    with pytest.raises(UserError, match=message):
        keep_sentences(tiny_corpus.path, tmp_path / "x", ["de"], 31, 1, "--language-limit")


def test_extra_monolingual_text_is_as_large_as_the_parallel_text(tiny_corpus, tmp_path):
    pairs_into_mono(tiny_corpus.path, tmp_path / "extra", PAIR, "de")
    before, after = DataFolder(tiny_corpus.path), DataFolder(tmp_path / "extra")
    side = before.parallel("train", *PAIR)[1]
    mono = rows(after.mono("train", "de"))
    assert mono == rows(before.mono("train", "de")) + rows(side)
    assert after.meta["mono"]["train"]["de"]["sentences"] == len(mono)
    assert rows(after.mono("train", "en")) == rows(before.mono("train", "en"))
    assert rows(after.parallel("train", *PAIR)[1]) == rows(side)


def test_making_a_folder_again_over_a_half_made_one_gives_the_same(tiny_corpus, tmp_path):
    keep_pairs(tiny_corpus.path, tmp_path / "a", PAIR, 4, seed=1)
    whole = pairs_of(tmp_path / "a")
    (tmp_path / "a" / "parallel" / "train.en-de.de.idx").unlink()
    keep_pairs(tiny_corpus.path, tmp_path / "a", PAIR, 4, seed=1)
    assert pairs_of(tmp_path / "a") == whole


def test_further_links_stay_with_their_pairs(tiny_corpus, tmp_path):
    sides = DataFolder(tiny_corpus.path).parallel("train", *PAIR)
    copy = tmp_path / "all"
    keep_pairs(tiny_corpus.path, copy, PAIR, 20, seed=1)
    # As many further links for each target token as the source has tokens, modulo 3.
    items = [np.full(len(b) * (len(a) % 3), 1) for a, b in zip(*map(rows, sides), strict=True)]
    assert len({len(item) > 0 for item in items}) == 2
    write_items(copy / "parallel" / "train.en-de.further", items, np.dtype("<i4"))
    keep_pairs(copy, tmp_path / "few", PAIR, 6, seed=1)
    few = DataFolder(tmp_path / "few")
    found = zip(*map(rows, few.parallel("train", *PAIR)), few.further("train", *PAIR), strict=True)
    assert all(len(further) == len(b) * (len(a) % 3) for a, b, further in found)
    texts = (np.array([7, 8, 2]) for _ in range(20))
    with_translations(copy, tmp_path / "other", PAIR, texts, original=False)
    assert DataFolder(tmp_path / "other").further("train", *PAIR) is None


@pytest.mark.parametrize(
    ("more", "link", "message"),
    [
        (1, 1, "further links must be equally many for each target token"),
        (0, 99, "sentence 2 has a link to token 99"),
    ],
)
def test_damaged_further_links_are_refused(tiny_corpus, tmp_path, more, link, message):
    keep_pairs(tiny_corpus.path, tmp_path / "bin", PAIR, 20, seed=1)
    target = DataFolder(tmp_path / "bin").parallel("train", *PAIR)[1]
    items = [np.full((i == 1) * (len(target[i]) + more), link) for i in range(20)]
    write_items(tmp_path / "bin/parallel/train.en-de.further", items, np.dtype("<i4"))
    with pytest.raises(UserError, match=message):
        DataFolder(tmp_path / "bin").further("train", *PAIR)
