import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from fairseq_xling.core.errors import UserError
from fairseq_xling.text import segment
from fairseq_xling.text.segment import char, join_characters, moses, segmentations, space, words_of

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40)
TRICKY = st.text(st.sampled_from("asS9'’-.,:!? ́漢字かー﹅\t\u00a0。…“”@&"), max_size=20)
MOSES = {
    "en": [
        "Mr. Smith doesn't (really) agree...",
        "We'll see; the dogs' U.S. tour ends at 5 p.m. today, says Anna's \"friend\".",
        "It's 1,000 of 3.5 & 'quoted' [twice]!",
    ],
    "fr": ["L'été d'Anna, qu'il n'a pas vu aujourd'hui."],
    "de": ["Das sind z. B. Dr. Meiers 3.500 Bücher (ca. 20 %)."],
}


@pytest.mark.parametrize("name", segmentations)
@given(text=st.one_of(TEXT, TRICKY))
@settings(max_examples=150, deadline=None)
def test_segmenting_twice_is_segmenting_once(name, text):
    once = segmentations[name]([text])
    assert segmentations[name](once) == once


@pytest.mark.parametrize("name", ["pre", "space", "char"])
@given(text=TEXT)
@settings(max_examples=50, deadline=None)
def test_only_white_space_changes(name, text):
    (result,) = segmentations[name]([text])
    assert "".join(result.split()) == "".join(text.split())
    assert result == " ".join(words_of(result))


def test_marks_and_characters_are_set_off_but_not_in_words():
    lines = ["Twenty-one of 3.5 (or 1,000)? It's 12:30..."]
    assert space(lines) == ["Twenty-one of 3.5 ( or 1,000 ) ? It's 12:30 ..."]
    # A variation selector stays with its character.
    lines = ["今天12月3日，東京タワー。", "Anna sagt: 好!", "葛\U000e0100城", "", "a ", "\t"]
    cut = [
        "今 天 12 月 3 日 ， 東 京 タ ワ ー 。",
        "Anna sagt : 好 !",
        "葛\U000e0100 城",
        "",
        "a",
        "",
    ]
    assert char(lines) == cut


@pytest.mark.parametrize(
    ("cut", "joined"),
    [
        ("我 在 Berlin 住 了 3 年", "我在 Berlin 住了 3 年"),
        ("他 说 : 「 好 」 。", "他说:「好」。"),
        ("我 , 你 ！ Anna 。", "我,你！Anna。"),
        ("no , change here .", "no , change here ."),
    ],
)
def test_joining_undoes_the_cut_around_characters_only(cut, joined):
    assert join_characters(cut) == joined


@pytest.mark.parametrize("lang", MOSES)
def test_ordinary_text_is_cut_as_moses_does(lang):
    tokenizer = MosesTokenizer(lang=lang)
    expected = [tokenizer.tokenize(line, return_str=True, escape=False) for line in MOSES[lang]]
    assert moses(lang, MOSES[lang]) == expected
    assert moses(lang, expected) == expected


def test_the_tokenizer_of_moses_names_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    monkeypatch.setattr(segment, "_moses", segment._moses.__wrapped__)
    with pytest.raises(
        UserError, match="`--segment` moses-en needs the library sacremoses: pip in"
    ):
        moses("en", ["a"])
