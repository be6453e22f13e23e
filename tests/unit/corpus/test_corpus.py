"""The stream: repeatable, independent of order, of the promised size, and skewed."""

from collections import Counter

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.corpus import LANGUAGES, generate
from fairseq_xling.corpus.corpus import DOCUMENT, LONGEST, SHORTEST

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


def test_sentences_do_not_depend_on_order_or_chunking(thousand):
    pieces = [list(generate(ALL, 100, seed=5, start=start)) for start in (900, 0, 450)]
    assert pieces == [thousand[900:], thousand[:100], thousand[450:550]]


def test_sentences_do_not_depend_on_the_other_languages(thousand):
    alone = [p.sentences["de"] for p in generate(["de"], 100, seed=5)]
    assert alone == [p.sentences["de"] for p in thousand[:100]]


def test_sentences_far_along_can_be_had_at_once():
    (sentence,) = generate(["en"], 1, seed=1, start=10**15)
    assert sentence.index == 10**15


def test_english_sentences_have_five_to_twenty_words_and_about_ten_on_average(thousand):
    lengths = [len(p.sentences["en"].tokens) for p in thousand]
    assert min(lengths) >= SHORTEST
    assert max(lengths) <= LONGEST
    assert 9 <= np.mean(lengths) <= 11


def test_most_sentences_differ_in_meaning(thousand):
    assert len({p.key for p in thousand}) > 900


def test_a_document_keeps_its_topic(thousand):
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
    ranks = [
        np.argsort(np.argsort([counts[domain][word] for word in sorted(shared)]))
        for domain in counts
    ]
    assert np.corrcoef(*ranks)[0, 1] < 0.5


def test_an_unknown_language_names_near_matches():
    with pytest.raises(UserError, match=r"unknown synthetic language 'xxs'; did you mean .*'xx'"):
        generate(["en", "xxs"], 1, seed=1)


def test_an_unknown_domain_is_refused():
    with pytest.raises(UserError, match=r"unknown `--domain` 'othr'; did you mean 'other'\?"):
        generate(["en"], 1, seed=1, domain="othr")


@pytest.mark.parametrize("name", ["count", "seed", "start"])
def test_negative_numbers_are_refused(name):
    values = {"count": 1, "seed": 1, "start": 0, name: -1}
    with pytest.raises(UserError, match=f"`{name}` must not be negative, got -1"):
        generate(["en"], **values)
