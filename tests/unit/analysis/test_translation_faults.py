"""Words, order and repetitions of translations, each spoilt alone."""

import random
from itertools import combinations

import pytest

from fairseq_xling.analysis.sampled_bleu import Sample
from fairseq_xling.analysis.translation_faults import faults

REFERENCES = ["the small dog sees a red tree", "two men talk", "a cat and a dog sleep here"]


def measured(hypotheses, references=REFERENCES):
    pairs = zip(hypotheses, references, strict=True)
    return faults([Sample(0, "", reference, text) for text, reference in pairs], "none")


def test_another_order_changes_the_order_alone():
    assert measured(REFERENCES) == {"words": 100, "order": 100, "repeated": 0}
    found = measured([" ".join(line.split()[::-1]) for line in REFERENCES])
    assert found == {"words": 100, "order": 0, "repeated": 0}


def test_other_words_change_the_words_alone():
    found = measured([f"{line} instead" for line in REFERENCES])
    assert found["words"] == pytest.approx(200 * 17 / (17 + 20))
    assert (found["order"], found["repeated"]) == (100, 0)


def test_words_said_twice_are_counted_and_give_no_order():
    found = measured([" ".join(f"{word} {word}" for word in line.split()) for line in REFERENCES])
    assert found["repeated"] == pytest.approx(50)
    assert found["order"] is None
    assert found["words"] == pytest.approx(200 * 17 / (17 + 34))


def test_nothing_written_is_nothing_right():
    assert measured(["", "", ""]) == {"words": 0, "order": None, "repeated": 0}


def test_the_order_is_that_of_each_pair_of_words_that_stand_once():
    generator = random.Random(5)
    words = [f"w{n}" for n in range(12)]
    hypotheses, references = (
        [" ".join(generator.choices(words, k=10)) for _ in range(40)] for _ in range(2)
    )
    same = count = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = hypothesis.split(), reference.split()
        once = [w for w in ours if ours.count(w) == theirs.count(w) == 1]
        for a, b in combinations(once, 2):
            count += 1
            same += theirs.index(a) < theirs.index(b)
    assert measured(hypotheses, references)["order"] == pytest.approx(100 * same / count)


def test_words_are_those_of_the_tokenizer():
    found = faults([Sample(0, "", "A dog, here.", "A dog , here .")], "13a")
    assert found == {"words": 100, "order": 100, "repeated": 0}
