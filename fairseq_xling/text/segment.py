"""Cut text into words before subwords are learnt (Chinese characters, punctuation marks).

Every segmentation is idempotent: segmenting its own output changes nothing. All of them turn runs
of blanks (space, tab, and what is left of line ends) into one space and drop them at the ends.

**Words are separated by blanks, and by nothing else**, in text, in links and for aligners: a
no-break space stays inside its word, as for fast_align, and published tokenizers are given it. A
vocabulary may cut the word there. `OtherWords` warns of texts that ``str.split`` cuts into other
words, as awesome-align, SimAlign and eflomal do.
"""

import functools
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from fairseq_xling.core.extras import needed_by
from fairseq_xling.core.registry import Registry

Cut = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Segmentation:
    """One method of cutting text into words, called with lines of it.

    Attributes:
        cut: returns lines whose words are separated by one space.
        join: removes the spaces that ``cut`` inserted where the language has none.
        check: raises a `UserError` if a library that ``cut`` needs is missing.
    """

    cut: Cut
    join: Callable[[str], str] = str
    check: Callable[[], object] = lambda: None

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return self.cut(lines)


logger = logging.getLogger(__name__)
segmentations: Registry[Segmentation] = Registry("segmentation")


def segmentation(name: str, **how: Any) -> Callable[[Cut], Cut]:
    """Registers the function below as the `Segmentation` ``name``, with ``join`` or ``check``."""

    def add(cut: Cut) -> Cut:
        segmentations.register(name)(Segmentation(cut, **how))
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
CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc]"
_CHARACTERS = regex.compile(rf"{CJK}\p{{M}}*")
# What BERT (Devlin et al., 2019) separates: all punctuation, and ASCII's symbols; of scripts
# without spaces only Chinese, by these blocks: the Japanese mark of repetition is no character.
# The characters themselves, which every library of patterns reads; not all know the escapes.
HAN = (
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
EACH_MARK = r"[\p{P}$+<=>^`|~]"
_EACH = regex.compile(HAN), regex.compile(EACH_MARK)
# The spaces that such text does not have: next to its own punctuation, and between a character and
# another one or any other mark (normalisation makes ordinary commas of full-width ones).
_WIDE = r"[\u3001-\u303f\uff00-\uff65]"
_CJK_GAPS = regex.compile(
    rf"(?<={_WIDE}) | (?={_WIDE})"
    rf"|(?<={CJK}\p{{M}}*) (?={CJK}|\p{{P}})|(?<=\p{{P}}) (?={CJK})"
)


# White space that is no blank. That of ASCII are control characters.
_OTHER = re.compile("[\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_BLANKS = str.maketrans("\t\r\n", "   ")


def words_of(line: str) -> list[str]:
    """The parts of ``line`` between blanks.

    >>> words_of(" 10\\u00a0000\\tdogs run\\r")
    ['10\xa0000', 'dogs', 'run']
    """
    if _OTHER.search(line) is None:
        return line.split()
    return [word for word in line.translate(_BLANKS).split(" ") if word]


def with_other_space(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines with white space that is no blank.

    >>> with_other_space(["10 dogs", "10\\u00a0000 dogs"])
    [1]
    """
    if _OTHER.search("\n".join(lines)) is None:
        return []
    return [number for number, line in enumerate(lines) if _OTHER.search(line)]


class OtherWords:
    """Warns of a text that belongs to links if ``str.split`` finds other words in it."""

    def __init__(self, path: str | Path):
        self._path, self._seen, self._odd, self._first = path, 0, 0, (0, "")

    def see(self, lines: Sequence[str]) -> None:
        """The next lines of the text."""
        for number in with_other_space(lines):
            line = lines[number]
            if len(words_of(line)) != len(line.split()):
                self._odd += 1
                if self._odd == 1:
                    mark = next(x for x in line if _OTHER.match(x))
                    self._first = self._seen + number + 1, mark
        self._seen += len(lines)

    def end(self) -> None:
        """Nothing follows."""
        if self._odd:
            logger.warning(
                "%s:%d: has U+%04X, as %d line(s) have white space that is no blank, and here "
                "separates no words; if the aligner separates them there, as awesome-align, "
                "SimAlign and eflomal do, replace it by a blank",
                self._path,
                self._first[0],
                ord(self._first[1]),
                self._odd,
            )


@segmentation("pre")
def pre(lines: Sequence[str]) -> list[str]:
    """The words are those of the file.

    >>> pre(["  already   cut, as it is "])
    ['already cut, as it is']
    """
    if _OTHER.search("\n".join(lines)) is None:
        return [" ".join(line.split()) for line in lines]
    return [" ".join(words_of(line)) for line in lines]


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
    >>> basic(["人々は"])
    ['人 々は']
    """
    return _substitute(lines, *_EACH)


# Languages for which Moses has abbreviations or a rule for apostrophes.
MOSES_LANGUAGES = ("de", "el", "en", "es", "fr", "it", "ru")

# What Moses cuts off at an apostrophe, and would cut again at the next reading.
_CUT_OFF = {
    "en": regex.compile(r"(?<=\p{L}) (?='(?:s|t|m|d|re|ve|ll)(?!\S))", regex.IGNORECASE),
    "fr": regex.compile(r"(?<=\p{L}') (?=\p{L})"),
    "it": regex.compile(r"(?<=\p{L}') (?=\p{L})"),
}


@functools.cache
def _moses(lang: str) -> Any:
    with needed_by(f"`--segment` moses-{lang}"):
        from sacremoses import MosesTokenizer
    return MosesTokenizer(lang=lang)


def moses(lang: str, lines: Sequence[str]) -> list[str]:
    """As the tokenizer of Moses (Koehn et al., 2007) does, without escapes for XML.

    Moses cuts some of its own words again ("'re", "a.."). What it cut off at an apostrophe is first
    joined again, and the rest is cut until nothing changes, so most text comes out as Moses writes
    it, and all text as it stays; English names such as O'Brien are cut into three words instead of
    two. Control characters are removed.

    >>> moses("en", ["Mr. Smith doesn't (really) agree."])
    ["Mr. Smith doesn 't ( really ) agree ."]
    """
    tokenizer, cut_off = _moses(lang), _CUT_OFF.get(lang)

    def cut(line: str) -> str:
        while True:
            joined = line if cut_off is None else cut_off.sub("", line)
            words = tokenizer.tokenize(joined, return_str=True, escape=False).split()
            before, line = line, " ".join(words)
            if line == before:
                return line

    return [cut(line) for line in pre(lines)]


for _lang in MOSES_LANGUAGES:
    segmentation(f"moses-{_lang}", check=functools.partial(_moses, _lang))(
        functools.partial(moses, _lang)
    )


def _substitute(lines: Sequence[str], *patterns: regex.Pattern) -> list[str]:
    # One call per block of lines instead of one per line; concurrent=True frees other threads.
    text = "\n".join(lines)
    for pattern in patterns:
        text = pattern.sub(r" \g<0> ", text, concurrent=True)
    return pre(text.split("\n"))
