import gzip
import json
import random
import re
import string
import unicodedata
from pathlib import Path

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.answers import (
    SEGMENTATIONS,
    check_segmentation,
    compare,
    mixed,
    overlap,
    words,
)

XQUAD = Path(__file__).parents[4] / "shared" / "data" / "xquad"
PARTS = [
    "the",
    "a",
    "An",
    "dog",
    "Dog",
    "U.S.",
    "it's",
    "-",
    "，",
    "东京",
    "「猫」",
    "カ",
    "1,000",
    "é",
]


def obvious_words(text):
    """The four steps of the definition, one letter at a time."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()


def obvious_f1(predicted, gold):
    left, common = list(gold), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            common += 1
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def obvious_mixed(text):
    """Characters of the Chinese and Japanese blocks stand alone, all marks vanish."""
    kept = ""
    for letter in text.lower():
        if letter not in string.punctuation and not unicodedata.category(letter).startswith("P"):
            kept += letter
    kept = re.sub(r"\b(a|an|the)\b", " ", kept)
    spaced = ""
    for letter in kept:
        name = unicodedata.name(letter, "")
        alone = name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA"))
        spaced += f" {letter} " if alone else letter
    return spaced.split()


def test_words_and_f1_are_those_of_the_definition_step_by_step():
    draw = random.Random(1)
    for _ in range(500):
        one, two = (
            "".join(draw.choice(PARTS) + draw.choice([" ", "  ", ""]) for _ in range(n))
            for n in (draw.randrange(6), draw.randrange(1, 6))
        )
        assert words(one) == obvious_words(one)
        assert mixed(one) == obvious_mixed(one)
        for cut in (words, mixed):
            assert overlap(cut(one), cut(two)) == pytest.approx(obvious_f1(cut(one), cut(two)))


def test_each_figure_takes_the_gold_answer_that_suits_it_best():
    assert compare("dog", ["cat", "big dog", "the dog"]) == (1.0, 1.0)
    assert compare("big red dog", ["cat", "dog", "big red house"]) == (0.0, pytest.approx(2 / 3))
    assert compare("", ["dog"]) == (0.0, 0.0)


def test_answers_that_are_nothing_but_articles_match_without_overlap():
    assert compare("the", ["The"]) == (1.0, 0.0)


def test_segmentations_agree_where_words_have_spaces():
    for text in ("The dog sees a cat.", "drei große Häuser", "шесть собак!"):
        assert words(text) == mixed(text)


def test_characters_count_one_by_one_where_words_have_none():
    assert compare("东京都", ["东京"]) == (0.0, 0.0)
    assert compare("东京都", ["东京"], "mixed") == (0.0, pytest.approx(0.8))
    assert compare("东京。", ["东京"], "mixed") == (1.0, 1.0)


def test_an_unknown_segmentation_is_answered_with_all():
    check_segmentation("mixed")
    message = "`--head-options`: unknown segmentation of answers 'mix'; did you mean 'mixed'?"
    with pytest.raises(UserError, match=re.escape(message)):
        check_segmentation("mix")


@pytest.mark.skipif(not XQUAD.is_dir(), reason=f"the XQuAD files are not at {XQUAD}")
@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_real_gold_answers_are_perfect(segmentation):
    for path in sorted(XQUAD.glob("xquad.*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            articles = json.load(file)["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    golds = [answer["text"] for answer in question["answers"]]
                    assert compare(golds[0], golds, segmentation) == (1.0, 1.0)
