"""Word order and forms of the four natural languages, and hand-made alignments."""

import pytest

from fairseq_xling.corpus import LANGUAGES
from fairseq_xling.corpus.annotate import pharaoh
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.realiser import align
from fairseq_xling.text.segment import char, space
from tests.unit.corpus.parallel import generate

FINITE = ("aux", "cop")


def noun(at, key, determiner="definite", **more):
    return NounPhrase(at, "noun", (key,), determiner=determiner, **more)


@pytest.fixture
def bought():
    """The old farmer did not buy an apple tree in the market because he was tired."""
    farmer = noun(16, "farmer", adjectives=("old",))
    main = Clause(32, farmer, "buy", noun(48, "apple_tree", "indefinite"), mood="past")
    main.negated = True
    main.obliques = [Oblique("in", noun(64, "market"))]
    he = NounPhrase(80, "pronoun", ("he",), antecedent=farmer)
    second = Clause(96, he, predicate="tired", mood="past")
    return Meaning(main, "because", second)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "the old farmer did not buy an apple tree in the market because he was tired ."),
        ("de", "der alte Bauer kaufte keinen Apfelbaum im Markt ein , weil er müde war ."),
        ("zh", "因为他很疲倦，老农民没有在市场里买一棵苹果树。"),
        ("id", "petani tua tidak membeli sebuah pohon apel di pasar karena dia lelah ."),
    ],
)
def test_a_meaning_made_by_hand_is_said_as_expected(bought, code, text):
    assert LANGUAGES[code].sentence(bought).text == text


# 0 the 1 old 2 farmer 3 did 4 not 5 buy 6 an 7 apple 8 tree 9 in 10 the 11 market 12 because 13 he
# 14 was 15 tired 16 .
BY_HAND = {
    # 0 der 1 alte 2 Bauer 3 kaufte 4 keinen 5 Apfelbaum 6 im 7 Markt 8 ein 9 , 10 weil 11 er
    # 12 müde 13 war 14 .
    "de": "0-0 1-1 2-2 4-4 5-3 5-8 6-4 7-5 8-5 9-6 10-6 11-7 12-10 13-11 14-13 15-12 16-14",
    # 0 因为 1 他 2 很 3 疲倦 4 ， 5 老 6 农民 7 没有 8 在 9 市场 10 里 11 买
    # 12 一 13 棵 14 苹果 15 树 16 。
    "zh": "1-5 2-6 4-7 5-11 6-12 7-14 8-15 9-8 9-10 11-9 12-0 13-1 15-3 16-16",
    # 0 petani 1 tua 2 tidak 3 membeli 4 sebuah 5 pohon 6 apel 7 di 8 pasar 9 karena 10 dia 11 lelah
    "id": "1-1 2-0 4-2 5-3 6-4 7-6 8-5 9-7 11-8 12-9 13-10 15-11 16-12",
}


@pytest.mark.parametrize("code", BY_HAND)
def test_alignment_equals_the_one_made_by_hand(bought, code):
    english, other = (LANGUAGES[one].sentence(bought).tokens for one in ("en", code))
    assert pharaoh(align(english, other)) == BY_HAND[code]


def test_alignment_is_symmetric():
    for parallel in generate(["en", "de", "zh"], 200, seed=4):
        forth, back = parallel.alignment("de", "zh"), parallel.alignment("zh", "de")
        assert forth == {(i, j) for j, i in back}
        assert forth


def subtree(tokens, number):
    found = {number}
    while True:
        more = {k for k, token in enumerate(tokens, start=1) if token.head in found} - found
        if not more:
            return found
        found |= more


def test_german_subordinate_clauses_end_with_the_finite_verb():
    seen = 0
    for parallel in generate(["de"], 1000, seed=6):
        tokens = parallel.sentences["de"].tokens
        for number, token in enumerate(tokens, start=1):
            if token.deprel != "mark":
                continue
            verb = token.head
            own = [k for k, t in enumerate(tokens, 1) if t.head == verb and t.deprel in FINITE]
            words = [k for k in subtree(tokens, verb) if tokens[k - 1].upos != "PUNCT"]
            assert (min(words), max(words)) == (number, [*own, verb][0])
            seen += 1
    assert seen > 50


def test_german_main_clauses_have_the_finite_verb_second():
    inverted = 0
    for parallel in generate(["de"], 1000, seed=7):
        tokens = parallel.sentences["de"].tokens
        root = next(k for k, t in enumerate(tokens, 1) if t.head == 0)
        children = [k for k, t in enumerate(tokens, 1) if t.head == root]
        finite = [k for k in children if tokens[k - 1].deprel in FINITE] or [root]
        before = [tokens[k - 1].deprel for k in children if k < finite[0]]
        first = [relation for relation in before if relation not in ("punct", *FINITE)]
        assert len(first) == 1
        inverted += first != ["nsubj"]
    assert inverted > 20


def test_adjectives_stand_behind_the_noun_in_indonesian_and_before_it_in_english():
    sides = {"en": set(), "id": set()}
    for parallel in generate(["en", "id"], 500, seed=8):
        for code, sentence in parallel.sentences.items():
            for number, token in enumerate(sentence.tokens, start=1):
                if token.deprel == "amod" and token.concept != "many":
                    sides[code].add(token.head < number)
    assert sides == {"en": {False}, "id": {True}}


def test_indonesian_has_no_definite_article():
    for parallel in generate(["id"], 300, seed=8):
        for token in parallel.sentences["id"].tokens:
            assert token.concept != "definite"


def test_chinese_text_has_no_spaces_and_its_words_join_to_the_text():
    for parallel in generate(["zh"], 1000, seed=3):
        sentence = parallel.sentences["zh"]
        assert " " not in sentence.text
        assert "".join(sentence.words) == sentence.text


def test_the_segmentations_of_prepare_keep_the_words():
    for parallel in generate(list(LANGUAGES), 500, seed=11):
        for code, sentence in parallel.sentences.items():
            if LANGUAGES[code].spaced:
                assert space([sentence.text]) == [" ".join(sentence.words)]
            else:
                assert char([sentence.text]) == [" ".join(char(sentence.words))]


def test_names_and_numbers_are_the_same_string_in_english_german_and_indonesian():
    forms = {"en": set(), "de": set(), "id": set()}
    for parallel in generate(list(forms), 2000, seed=1):
        for code, sentence in parallel.sentences.items():
            forms[code] |= set(sentence.words)
    shared = set.intersection(*forms.values())
    assert {"Anna", "Berlin", "20", "."} <= shared
    assert not any(word in shared for word in ("the", "cook", "ship"))
