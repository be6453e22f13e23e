"""The stream: repeatable, independent of order, of the promised size, and skewed."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import rankdata

from fairseq_xling.corpus import LANGUAGES
from fairseq_xling.corpus.corpus import DOCUMENT, LONGEST, SHORTEST
from tests.unit.corpus.parallel import generate

ALL = ("en", "de", "zh", "id", "xx", "yy", "xp", "xs", "xm")


@pytest.fixture(scope="module")
def thousand():
    return list(generate(ALL, 1000, seed=5))


def test_the_registered_languages_are_those_of_the_tests():
    assert sorted(LANGUAGES) == sorted(ALL)


def test_the_same_seed_gives_the_same_sentences_whatever_the_global_random_state():
    np.random.seed(1)
    first = list(generate(["en", "zh"], 50, seed=3))
    np.random.seed(2)
    assert list(generate(["en", "zh"], 50, seed=3)) == first


def test_another_seed_gives_other_sentences():
    texts = [{p.sentences["en"].text for p in generate(["en"], 200, seed=seed)} for seed in (1, 2)]
    assert len(texts[0] & texts[1]) < 20


def test_sentences_depend_on_neither_order_nor_other_languages_and_can_be_far_along(thousand):
    pieces = [list(generate(ALL, 100, seed=5, start=start)) for start in (900, 0, 450)]
    assert pieces == [thousand[900:], thousand[:100], thousand[450:550]]
    alone = [p.sentences["de"] for p in generate(["de"], 100, seed=5)]
    assert alone == [p.sentences["de"] for p in thousand[:100]]
    assert len(list(generate(["en"], 1, seed=1, start=10**15))) == 1


def test_english_sentences_have_five_to_twenty_words_and_about_ten_on_average(thousand):
    lengths = [len(p.sentences["en"].tokens) for p in thousand]
    assert min(lengths) >= SHORTEST and max(lengths) <= LONGEST
    assert 9 <= np.mean(lengths) <= 11


def test_most_sentences_differ_in_meaning_and_a_document_keeps_its_topic(thousand):
    assert len({p.key for p in thousand}) > 900
    for start in range(0, 1000, DOCUMENT):
        assert len({p.topic for p in thousand[start : start + DOCUMENT]}) == 1


def test_topics_and_words_are_skewed():
    sample = list(generate(["en"], 2500, seed=1))
    topics = [n for _, n in Counter(p.topic for p in sample).most_common()]
    assert len(topics) == 16
    assert topics[0] > 4 * topics[-1]
    nouns = Counter(t.lemma for p in sample for t in p.sentences["en"].tokens if t.upos == "NOUN")
    counts = [n for _, n in nouns.most_common()]
    assert counts[0] > 8 * counts[len(counts) // 2]


def test_english_has_hundreds_of_words():
    sample = generate(["en"], 3000, seed=1)
    content = {
        (t.lemma, t.upos)
        for p in sample
        for t in p.sentences["en"].tokens
        if t.upos in ("NOUN", "VERB", "ADJ", "ADV")
    }
    assert len(content) > 450


def test_the_other_domain_has_the_same_words_at_other_frequencies():
    counts = {
        domain: Counter(
            t.lemma
            for p in generate(["en"], 2000, seed=1, domain=domain)
            for t in p.sentences["en"].tokens
            if t.upos == "NOUN"
        )
        for domain in ("default", "other")
    }
    shared = set(counts["default"]) & set(counts["other"])
    assert len(shared) > 0.9 * len(set(counts["default"]) | set(counts["other"]))
    ranks = [rankdata([found[word] for word in sorted(shared)]) for found in counts.values()]
    assert np.corrcoef(*ranks)[0, 1] < 0.5
