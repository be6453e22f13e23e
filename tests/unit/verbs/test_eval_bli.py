"""Entries of a dictionary, in whatever form of Unicode its words and those of the vectors are."""

import unicodedata

import pytest

from fairseq_xling.verbs.eval_bli import pair_up

WORDS = ["café", "pérolas", "não", "ação", "über", "한국"]


@pytest.mark.parametrize("ignore_case", [True, False])
@pytest.mark.parametrize("first", ["NFC", "NFD"])
@pytest.mark.parametrize("second", ["NFC", "NFD"])
def test_words_match_in_any_form(first, second, ignore_case):
    vectors = [unicodedata.normalize(first, word) for word in WORDS]
    entries = [(unicodedata.normalize(second, word),) * 2 for word in WORDS]
    found = pair_up(entries, vectors, vectors, ignore_case)
    assert found.used == len(WORDS) and found.sources.tolist() == [*range(len(WORDS))]
