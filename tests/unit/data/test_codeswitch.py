import numpy as np
import pytest
from fairseq.data import Dictionary
from scipy.stats import chisquare

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.codeswitch import CodeSwitch, make_lexicon, split_words, word_starts
from fairseq_xling.data.folder import CLS, SEP, DataFolder
from fairseq_xling.data.sources import Row, Side

# Ids 10-59 are English words of one piece, 60-69 begin a word of two pieces that 70-79 continue,
# 100-199 are foreign words, 200-209 continue one.
WORD_START = np.zeros(300, dtype=bool)
WORD_START[10:70] = WORD_START[100:200] = True


def row(*words, lang="en"):
    return Row(Side(np.array([CLS, *words, SEP]), lang))


def switch(entries, share=0.3, cap=0.15, max_positions=1000):
    targets = [[source, [[t, w, "de"] for t, w in options]] for source, options in entries]
    return CodeSwitch({"en": make_lexicon(targets)}, WORD_START, share, cap, max_positions)


def words_of(rows):
    return [token for one in rows for token in one.source.tokens.tolist() if token > 5]


def one_to_one(known):
    return [([word], [([word + 100], 1.0)]) for word in known]


@pytest.mark.parametrize("coverage", [0.3, 0.8, 1.0])
def test_the_replaced_share_of_dictionary_words_is_as_published(coverage, record_property):
    rng = np.random.default_rng(1)
    change = switch(one_to_one(range(10, 50)))
    replaced, known = [], 0
    for _ in range(60):
        covered = rng.random((50, 20)) < coverage
        tokens = np.where(covered, rng.integers(10, 50, (50, 20)), 55)
        rows = change([row(*line) for line in tokens.tolist()], rng)
        changed = sum(word >= 110 for word in words_of(rows))
        assert changed <= 0.15 * 1000
        replaced.append(changed)
        known += int(covered.sum())
    expected = min(0.30, 0.15 / coverage)
    sigma = np.sqrt(expected * (1 - expected) / known)
    record_property("replaced share", round(sum(replaced) / known, 4))
    assert sum(replaced) / known == pytest.approx(expected, abs=3 * sigma)


def test_the_cap_counts_words_not_pieces_and_in_every_language():
    change = switch(one_to_one(range(10, 50)), share=1.0)
    german = [row(*[100, 200, 200, 200, 200] * 10, lang="de") for _ in range(5)]  # 10 words each
    english = [row(*range(10, 20)) for _ in range(5)]
    rows = change(german + english, np.random.default_rng(0))
    assert sum(word >= 110 for word in words_of(rows[5:])) == int(0.15 * 100)


def test_which_words_stay_under_the_cap_does_not_depend_on_their_place():
    change, places = switch(one_to_one(range(10, 50)), share=1.0), np.zeros(20)
    for seed in range(600):
        (changed,) = change([row(*range(10, 30))], np.random.default_rng(seed))
        places += changed.source.tokens[1:-1] >= 110
    assert places.sum() == 600 * 3 and chisquare(places).pvalue > 1e-3


def test_translations_are_drawn_by_their_weights():
    change = switch([([10], [([110], 6.0), ([111], 3.0), ([112], 1.0)])], share=1.0, cap=1.0)
    rows = change([row(*[10] * 100) for _ in range(50)], np.random.default_rng(0))
    counts = np.bincount(words_of(rows), minlength=113)[110:]
    assert counts.sum() == 5000
    assert chisquare(counts, 5000 * np.array([0.6, 0.3, 0.1])).pvalue > 1e-3


def test_words_of_several_pieces_are_replaced_whole_and_only_whole():
    change = switch([([60, 70], [([100, 200, 201], 1.0)]), ([12], [([112], 1.0)])], 1.0, 1.0)
    before = row(11, 60, 70, 12, 60, 60, 71, 60, 70, 70, 12, 70)
    (after,) = change([before], np.random.default_rng(0))
    expected = [CLS, 11, 100, 200, 201, 112, 60, 60, 71, 60, 70, 70, 12, 70, SEP]
    assert after.source.tokens.tolist() == expected


def test_all_else_about_a_row_is_as_before():
    change = switch(one_to_one([10]), share=1.0, cap=1.0)
    target = Side(np.array([CLS, 100, SEP]), "de")
    before = [Row(Side(np.array([CLS, 10, 11, SEP]), "en"), target, np.array([0, 1, 3])), row(11)]
    after = change(before, np.random.default_rng(0))
    assert after[0].source.tokens.tolist() == [CLS, 110, 11, SEP] and after[0].source.lang == "en"
    assert after[0].target is target and after[1] is before[1]
    assert before[0].source.tokens.tolist() == [CLS, 10, 11, SEP]  # the input is not changed


def test_longer_translations_stay_within_the_longest_row_and_keep_the_end():
    change = switch([([10], [([100, 200, 200, 200], 1.0)])], 1.0, 1.0, max_positions=8)
    (after,) = change([row(10, 11, 10, 12)], np.random.default_rng(0))
    assert after.source.tokens.tolist() == [CLS, 100, 200, 200, 200, 11, 100, SEP]


def test_a_second_segment_behind_it_keeps_its_place():
    change = switch([([10], [([100, 200, 200, 200], 1.0)])], 1.0, 1.0, max_positions=8)
    second = Side(np.array([12, 13, SEP]), "en")
    before = Row(Side(np.array([CLS, 10, 11, SEP]), "en"), second, follows=True)
    (after,) = change([before], np.random.default_rng(0))
    assert after.source.tokens.tolist() == [CLS, 100, 200, 200, SEP]
    assert after.target is second and after.follows  # together 8 ids


def test_nothing_happens_without_dictionary_words_or_words_at_all():
    change = switch(one_to_one([10]), share=1.0, cap=1.0)
    for rows in ([], [row()], [row(11, 12)], [row(10, lang="de")]):
        after = change(list(rows), np.random.default_rng(0))
        assert [r.source.tokens.tolist() for r in after] == [r.source.tokens.tolist() for r in rows]


def slow_words(tokens):
    words, word = [], None
    for place, token in enumerate(tokens):
        if token < 6:
            word = None
        elif WORD_START[token] or (place == 0):
            word = [place, place + 1]
            words.append(word)
        elif word is not None:
            word[1] = place + 1
    return words


def test_words_are_split_as_by_a_loop_over_tokens():
    rng = np.random.default_rng(0)
    for _ in range(200):
        tokens = rng.choice([0, 2, 3, 10, 11, 60, 70, 71, 200], int(rng.integers(1, 25)))
        starts, ends, hashes = split_words(tokens, WORD_START)
        assert [list(pair) for pair in zip(starts, ends, strict=True)] == slow_words(tokens)
        spans = [tuple(tokens[s:e].tolist()) for s, e in zip(starts, ends, strict=True)]
        seen = dict(zip(hashes.tolist(), spans, strict=True))
        assert len(seen) == len(set(spans))
        assert all(seen[h] == span for h, span in zip(hashes.tolist(), spans, strict=True))


def test_a_word_begins_with_its_mark_behind_a_language_prefix_or_without():
    symbols = ["▁the", "the", "en:▁the", "en:the", ":", "▁:", "<mask>", "zh_Hans:▁人"]
    assert word_starts(symbols).tolist() == [True, False, True, False, False, True, False, True]


def from_folder(corpus, languages=("en", "de")):
    folder = DataFolder(corpus.path)
    loaded = {lang: Dictionary.load(str(folder.dictionary_path(lang))) for lang in languages}
    return CodeSwitch.from_folder(folder, list(languages), loaded, 1.0, 1.0, 64)


@pytest.mark.parametrize("mode", ["joint", "prefixed"])
def test_the_folders_dictionaries_translate_in_both_directions(make_corpus, mode):
    corpus = make_corpus(mode=mode)
    en, de = corpus.ids["en"][:5], corpus.ids["de"][:5]
    rows = from_folder(corpus)([row(*en), row(*de, lang="de")], np.random.default_rng(0))
    assert [r.source.tokens.tolist()[1:-1] for r in rows] == [de, en]


def test_separate_vocabularies_cannot_be_switched(make_corpus):
    with pytest.raises(UserError, match="`--extra-anchors` needs one vocabulary for all languages"):
        from_folder(make_corpus(mode="separate"))


def test_a_folder_without_a_dictionary_between_the_languages_is_refused(tiny_corpus):
    with pytest.raises(UserError, match=r"has no dictionary between en; prepare it with"):
        from_folder(tiny_corpus, ["en"])
