"""Every concept has its words in every language, and different concepts have different words."""

from collections import defaultdict

import pytest

from fairseq_xling.corpus import LANGUAGES, inventory
from fairseq_xling.corpus.inventory import lexicon, tables
from fairseq_xling.corpus.sampler import Sampler

CONCEPTS = {
    "nouns": inventory.NOUN_KINDS,
    "verbs": inventory.VERBS,
    "adjectives": inventory.ADJECTIVES,
    "adverbs": inventory.ADVERBS,
}
every_table = pytest.mark.parametrize("table", CONCEPTS)
every_lexicon = pytest.mark.parametrize("name", ["german", "chinese", "indonesian"])


@every_lexicon
@every_table
def test_every_concept_has_a_word(name, table):
    assert set(lexicon(name)[table]) == set(CONCEPTS[table])


@every_lexicon
@every_table
def test_no_two_concepts_of_a_kind_have_the_same_word(name, table):
    owners = defaultdict(list)
    for key, value in lexicon(name)[table].items():
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
    kinds = {"pm", "pf", "a", "b", "v", "i", "t", "u", "time", "-"}
    assert set(inventory.NOUN_KINDS.values()) <= kinds


def test_hypernyms_and_antonyms_are_concepts():
    hypernyms = inventory.HYPERNYMS
    assert {*hypernyms, *hypernyms.values()} <= set(inventory.NOUN_KINDS)
    assert set(inventory.ANTONYMS) <= set(inventory.ADJECTIVES)


def test_names_take_a_german_genitive_s():
    assert [name for name in inventory.GENDERS if name.endswith(("s", "x", "z"))] == []


@pytest.mark.parametrize("code", list(LANGUAGES))
def test_the_lexicon_of_a_language_holds_no_empty_and_no_spaced_form(code):
    for forms in LANGUAGES[code].lexicon().values():
        assert forms
        assert all(form and " " not in form and "=" not in form for form in forms)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nouns\tdog\ta\nnouns\tdog\tb\n", r"x.tsv:2: 'dog' is a duplicate in nouns"),
        ("nouns\tdog\ta\n\n", r"x.tsv:2: must have table, key and value, got ''"),
        ("nouns\tdog\t\n", r"x.tsv:1: must have table, key and value, got 'nouns"),
    ],
)
def test_a_line_of_another_form_and_a_second_one_of_a_key_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        tables(text, "x.tsv")
