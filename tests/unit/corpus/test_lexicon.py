"""Every concept has its words in every language, and different concepts have different words."""

from collections import defaultdict

import pytest

from fairseq_xling.corpus import LANGUAGES, concepts, inventory
from fairseq_xling.corpus.lexicon import chinese, german, indonesian
from fairseq_xling.corpus.lexicon.reader import entries, items
from fairseq_xling.corpus.sampler import Sampler

MODULES = [german, chinese, indonesian]


@pytest.mark.parametrize("module", MODULES)
def test_every_concept_has_a_word(module):
    assert set(entries(module.NOUNS)) == set(inventory.NOUN_KINDS)
    assert set(entries(module.VERBS)) == set(inventory.VERBS)
    assert set(entries(module.ADJECTIVES)) == set(inventory.ADJECTIVES)
    assert set(entries(module.ADVERBS)) == set(inventory.ADVERBS)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("table", ["NOUNS", "VERBS", "ADJECTIVES", "ADVERBS"])
def test_no_two_concepts_of_a_kind_have_the_same_word(module, table):
    owners = defaultdict(list)
    for key, value in entries(getattr(module, table)).items():
        owners[value.split()[0]].append(key)
    assert [keys for keys in owners.values() if len(keys) > 1] == []


def test_every_noun_of_the_topics_is_known_and_every_kind_is_one_of_those_described():
    for topic in Sampler().topics:
        assert set(topic.nouns.values) <= set(inventory.NOUN_KINDS)
        for frame in topic.frames:
            tables = [frame.subjects, *(table for _, table in frame.obliques)]
            tables += [frame.objects] if frame.objects else []
            for table in tables:
                assert set(table.values) <= set(inventory.NOUN_KINDS)
    assert set(inventory.NOUN_KINDS.values()) <= {
        "pm",
        "pf",
        "a",
        "b",
        "v",
        "i",
        "t",
        "u",
        "time",
        "-",
    }


def test_hypernyms_and_antonyms_are_concepts():
    for kind, members in entries(concepts.HYPERNYMS).items():
        assert {kind, *members.split()} <= set(inventory.NOUN_KINDS)
    for pair in items(concepts.ANTONYMS):
        assert set(pair.split()) <= set(inventory.ADJECTIVES)


def test_names_take_a_german_genitive_s():
    assert [name for name in inventory.GENDERS if name.endswith(("s", "x", "z"))] == []


@pytest.mark.parametrize("code", list(LANGUAGES))
def test_the_lexicon_of_a_language_holds_no_empty_and_no_spaced_form(code):
    for forms in LANGUAGES[code].lexicon().values():
        assert forms
        assert all(form and " " not in form and "=" not in form for form in forms)


def test_a_key_that_is_there_twice_is_refused():
    with pytest.raises(ValueError, match="is a duplicate"):
        entries("dog: a; dog: b")
