"""Trees, parts of speech and entities of 1,000 sentences in every language."""

import re

import pytest

from fairseq_xling.corpus import LANGUAGES
from tests.unit.corpus.parallel import generate

UPOS = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB".split())
RELATIONS = set(
    "root nsubj obj iobj obl advmod aux cop mark case det amod nummod nmod conj cc advcl ccomp "
    "compound flat fixed clf punct".split()
)


def path_to_root(tokens, number):
    steps = []
    while number:
        steps.append(number)
        number = tokens[number - 1].head
        assert len(steps) <= len(tokens), "a cycle"
    return steps


@pytest.mark.parametrize("code", list(LANGUAGES))
def test_trees_have_one_root_and_no_cycle_and_entities_are_iob2(code):
    for parallel in generate([code], 400, seed=9):
        tokens = parallel.sentences[code].tokens
        roots = [token for token in tokens if token.head == 0]
        assert [token.deprel for token in roots] == ["root"]
        for number, token in enumerate(tokens, start=1):
            assert 0 <= token.head <= len(tokens)
            assert re.fullmatch(r"\S+", token.form)
            assert token.upos in UPOS and token.deprel in RELATIONS
            path_to_root(tokens, number)
        before = "O"
        for token in tokens:
            assert re.fullmatch(r"O|[BI]-(PER|LOC|ORG)", token.entity)
            if token.entity.startswith("I-"):
                assert before in ("B" + token.entity[1:], token.entity)
            before = token.entity


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_each_language_has_the_entities_of_english(code):
    for parallel in generate(["en", code], 300, seed=2):
        kinds = [
            sorted(t.entity for t in sentence.tokens if t.entity.startswith("B-"))
            for sentence in parallel.sentences.values()
        ]
        assert kinds[0] == kinds[1]


def test_every_kind_of_entity_occurs():
    found = {
        token.entity
        for parallel in generate(["en"], 1000, seed=1)
        for token in parallel.sentences["en"].tokens
    }
    assert found == {"O", "B-PER", "I-PER", "B-LOC", "B-ORG", "I-ORG"}
