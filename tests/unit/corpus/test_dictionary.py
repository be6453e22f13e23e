"""The dictionary agrees with the gold alignments, which come from another way."""

from collections import defaultdict

import pytest

from fairseq_xling.corpus import generate
from fairseq_xling.corpus.dictionary import dictionary


@pytest.mark.parametrize("pair", [("en", "de"), ("en", "zh"), ("id", "en"), ("en", "xx")])
def test_weights_of_a_source_word_add_up_to_one(pair):
    totals = defaultdict(float)
    for word, _, weight in dictionary(*pair):
        totals[word] += weight
    assert len(totals) > 400
    assert all(abs(total - 1) < 1e-9 for total in totals.values())


@pytest.mark.parametrize("other", ["de", "zh", "id", "xx"])
def test_aligned_content_words_are_in_the_dictionary(other):
    entries = defaultdict(set)
    for source, target, _ in dictionary("en", other):
        entries[source].add(target)
    checked = 0
    for parallel in generate(["en", other], 500, seed=2):
        english = parallel.sentences["en"].tokens
        foreign = parallel.sentences[other].tokens
        links = parallel.alignment("en", other)
        for i, j in links:
            alone = [k for k, _ in links if k == i] == [i] and [k for _, k in links if k == j] == [
                j
            ]
            if alone and english[i].upos in ("NOUN", "ADJ", "ADV") and english[i].form in entries:
                assert foreign[j].form in entries[english[i].form], english[i].form
                checked += 1
    assert checked > 500


def test_the_dictionary_of_a_relabelled_language_is_one_to_one():
    entries = dictionary("en", "xx")
    assert all(weight == 1 for _, _, weight in entries)
    assert len({s for s, _, _ in entries}) == len({t for _, t, _ in entries}) == len(entries)
