"""Exact match and F1 of an answer, as SQuAD 1.1 defines them (Rajpurkar et al., 2016, Section 6.1).

Text is normalised: lower case, without ASCII punctuation, without the articles a, an and the, split
at white space. For languages without spaces, where a whole answer would be one word, the
segmentation ``mixed`` makes every Chinese or Japanese character a separate word, and drops the
punctuation of all scripts, like MLQA (Lewis et al., 2020). MLQA also drops articles of other
languages; here only those of English are dropped, in every language, as when XQuAD is scored by
SQuAD's script.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import regex

from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name

_ASCII_MARKS = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = regex.compile(rf"[\p{{P}}{re.escape(string.punctuation)}]")
_CHARACTER = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc]")


def words(text: str) -> list[str]:
    """The words that SQuAD 1.1 compares.

    >>> words("The U.S. dollar,  and a cent!")
    ['us', 'dollar', 'and', 'cent']
    >>> words("在 东京。")
    ['在', '东京。']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_ASCII_MARKS)).split()


def mixed(text: str) -> list[str]:
    """The same, and each Chinese or Japanese character is a word.

    >>> mixed("在 东京。")
    ['在', '东', '京']
    >>> mixed("the NFL 联盟")
    ['nfl', '联', '盟']
    """
    plain = _ARTICLES.sub(" ", _MARKS.sub("", text.lower()))
    return _CHARACTER.sub(r" \g<0> ", plain).split()


SEGMENTATIONS: Mapping[str, Callable[[str], list[str]]] = {"words": words, "mixed": mixed}


def check_segmentation(name: str) -> None:
    """Reject a name that is not in `SEGMENTATIONS`.

    Raises:
        UserError: with all names.
    """
    if name not in SEGMENTATIONS:
        message = unknown_name("segmentation of answers", name, list(SEGMENTATIONS))
        raise UserError(f"`--head-options`: {message}")


def exact(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """1 if the words are the same in the same order, else 0.

    >>> exact(words("a red house"), words("Red house."))
    1.0
    """
    return float(list(predicted) == list(gold))


def overlap(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 = 2 c / (p + g) of p and g words with c in common, counted as multisets.

    Without a common word it is 0, also for two answers without any word, as in SQuAD 1.1.

    >>> overlap(words("a red house in rain"), words("red red house")) # c = 2, p = 4, g = 3
    0.5714285714285714
    >>> overlap([], [])
    0.0
    """
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold)) if common else 0.0


def compare(
    prediction: str, answers: Sequence[str], segmentation: str = "words"
) -> tuple[float, float]:
    """Exact match and F1, each with its best gold answer.

    >>> compare("red house", ["a house", "The red house!"])
    (1.0, 1.0)
    >>> compare("in 东京都", ["东京"], "mixed")  # c = 2, p = 4, g = 2
    (0.0, 0.6666666666666666)
    """
    cut = SEGMENTATIONS[segmentation]
    predicted, golds = cut(prediction), [cut(answer) for answer in answers]
    return (
        max(exact(predicted, gold) for gold in golds),
        max(overlap(predicted, gold) for gold in golds),
    )
