"""Cut text into words before subwords are learnt (Chinese characters, punctuation marks).

Every segmentation is idempotent: segmenting its own output changes nothing. All of them turn runs
of white space into one space and drop it at the ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from fairseq_xling.registry import Registry

Cut = Callable[[Sequence[str]], list[str]]
Join = Callable[[str], str]


@dataclass(frozen=True)
class Segmentation:
    """One method of cutting text into words, called with lines of it.

    Attributes:
        cut: returns lines whose words are separated by one space.
        join: removes the spaces that ``cut`` inserted where the language has none.
    """

    cut: Cut
    join: Join

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return self.cut(lines)


segmentations: Registry[Segmentation] = Registry("segmentation")


def _as_it_is(text: str) -> str:
    return text


def segmentation(name: str, join: Join = _as_it_is) -> Callable[[Cut], Cut]:
    """Registers the function below as `Segmentation` ``name``."""

    def add(cut: Cut) -> Cut:
        segmentations.register(name)(Segmentation(cut, join))
        return cut

    return add


# A run of the same mark is one word. An apostrophe or hyphen between letters (don't, twenty-one)
# and a point, comma or colon between digits (3.14, 12:30) belong to their word.
_MARKS = regex.compile(
    r"(?<=[\p{L}\p{M}\p{N}])['’\-](?=[\p{L}\p{N}])(*SKIP)(*FAIL)"
    r"|(?<=\p{N})[.,:](?=\p{N})(*SKIP)(*FAIL)"
    r"|([\p{P}\p{S}])\1*"
)
# Scripts written without spaces; a character keeps its combining marks (variation selectors).
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc]"
_CHARACTERS = regex.compile(rf"{_CJK}\p{{M}}*")
# What BERT (Devlin et al., 2019) separates: all punctuation, and ASCII's symbols; of scripts
# without spaces only Chinese.
_EACH_MARK = regex.compile(r"[\p{P}$+<=>^`|~]")
_HAN = regex.compile(r"\p{Han}")
# The spaces that such text does not have: next to its own punctuation, and between a character and
# another one or any other mark (normalisation makes ordinary commas of full-width ones).
_WIDE = r"[\u3001-\u303f\uff00-\uff65]"
_CJK_GAPS = regex.compile(
    rf"(?<={_WIDE}) | (?={_WIDE})"
    rf"|(?<={_CJK}\p{{M}}*) (?={_CJK}|\p{{P}})|(?<=\p{{P}}) (?={_CJK})"
)


@segmentation("pre")
def pre(lines: Sequence[str]) -> list[str]:
    """The words are those of the file.

    >>> pre(["  already   cut, as it is "])
    ['already cut, as it is']
    """
    return [" ".join(line.split()) for line in lines]


@segmentation("space")
def space(lines: Sequence[str]) -> list[str]:
    """Punctuation and symbols (Unicode categories P and S) separated from words.

    >>> space(['He said: "don\\'t!!" (3.14)'])
    ['He said : " don\\'t !! " ( 3.14 )']
    """
    return _substitute(lines, _MARKS)


def join_characters(text: str) -> str:
    """Undo the spaces that ``char`` put around Chinese or Japanese characters and punctuation.

    >>> join_characters("我 在 Berlin , 你 呢 。")
    '我在 Berlin ,你呢。'
    """
    return _CJK_GAPS.sub("", text)


@segmentation("char", join=join_characters)
def char(lines: Sequence[str]) -> list[str]:
    """As ``space``, and every Chinese or Japanese character is a separate word.

    >>> char(["我在Berlin。"])
    ['我 在 Berlin 。']
    """
    return _substitute(lines, _CHARACTERS, _MARKS)


@segmentation("basic")
def basic(lines: Sequence[str]) -> list[str]:
    """As BERT: every punctuation mark and every Chinese character is a separate word.

    >>> basic(["I don't 3.14!!"])
    ["I don ' t 3 . 14 ! !"]
    """
    return _substitute(lines, _HAN, _EACH_MARK)


def _substitute(lines: Sequence[str], *patterns: regex.Pattern) -> list[str]:
    # One call per block of lines instead of one per line; concurrent=True frees other threads.
    text = "\n".join(lines)
    for pattern in patterns:
        text = pattern.sub(r" \g<0> ", text, concurrent=True)
    return pre(text.split("\n"))
