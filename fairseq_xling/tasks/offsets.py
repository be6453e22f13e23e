"""The positions of tokens in their text: from ids back to characters.

n units (words, or spelt-out subwords), in the order of the text. All shipped segmentations change
only white space, so all letters are the same. One that changes more is aligned as far as it agrees:
a unit that cannot be found gets the gap between its neighbours, and those after it keep theirs.
"""

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from fairseq_xling.tasks.encode import Codec


@dataclass(frozen=True)
class Located:
    """A text as ids (n,), and of each the first character (n,) and the one after its last (n,)."""

    ids: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """First and last token with a letter of the characters ``[begin, end)``.

        The first is after the last if there are none.
        """
        first = np.searchsorted(self.end, begin, side="right")
        last = np.searchsorted(self.begin, end, side="left") - 1
        return int(first), int(last)


@functools.lru_cache(maxsize=8)  # the questions about a paragraph follow each other
def encode_located(codec: Codec, text: str) -> Located:
    """``text`` as ids, with their positions; at least one."""
    words = codec.segment(on_one_line(text)) or [text]
    ids = np.concatenate(codec.words(words))
    units = [unit for word in codec.surfaces(words) for unit in word]
    return Located(ids, *locate(units, text))


def on_one_line(text: str) -> str:
    """``text`` without line ends, of the same length: texts are encoded line by line."""
    return text.replace("\n", " ")


def locate(units: Sequence[str], text: str) -> tuple[np.ndarray, np.ndarray]:
    """The first character of each unit in ``text``, and the one after its last: both (n,).

    Both are non-decreasing. A unit without letters, such as the mark that begins a word, has the
    position of the next one with some.

    >>> [list(map(int, places)) for places in locate(["", "do", "n't", ";", "go"], "don't;  go")]
    [[0, 0, 2, 5, 8], [2, 2, 5, 6, 10]]
    >>> [list(map(int, places)) for places in locate(["the", "rat", "runs"], "The cat runs")]
    [[0, 4, 8], [3, 7, 12]]
    """
    spelt, (letters, places) = ["".join(unit.split()) for unit in units], _letters(text, str)
    if "".join(spelt) == letters:
        match = np.arange(len(letters))
    else:
        spelt, (letters, places) = [_plain(unit) for unit in units], _letters(text, _plain)
        match = _matches("".join(spelt), letters)
    sizes = np.array([len(unit) for unit in spelt])
    found = _fill(np.array(places), match, sizes, text)
    # Without letters: as the next unit that has some or, at the end of the text, the last.
    numbers = np.where(found[0] < found[1], np.arange(len(units)), len(units))
    nearest = np.minimum.accumulate(numbers[::-1])[::-1]
    last = np.flatnonzero(numbers < len(units))[-1:].sum()
    nearest = np.where(nearest < len(units), nearest, last)
    return found[0][nearest], found[1][nearest]


def _plain(text: str) -> str:
    """Lower-case letters in compatibility form, without white space."""
    return "".join(unicodedata.normalize("NFKD", text).casefold().split())


def _letters(text: str, form: Callable[[str], str]) -> tuple[str, list[int]]:
    """The letters of ``text`` in that form, and the character that each comes from."""
    parts = [form(letter) if not letter.isspace() else "" for letter in text]
    return "".join(parts), [place for place, part in enumerate(parts) for _ in part]


def _matches(ours: str, theirs: str) -> np.ndarray:
    """The letter of ``theirs`` that each of ``ours`` matches, by longest blocks, or -1: (l,)."""
    match = np.full(len(ours), -1)
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        match[block.a : block.a + block.size] = np.arange(block.b, block.b + block.size)
    return match


def _fill(
    places: np.ndarray, match: np.ndarray, sizes: np.ndarray, text: str
) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end (n,) of units of so many letters; of those with none, begin >= end.

    A unit counts as found if its letters are, in one piece.
    """
    first = np.cumsum(sizes) - sizes
    begin, end = np.full(len(sizes), len(text)), np.zeros(len(sizes), dtype=np.int64)
    some = np.flatnonzero(sizes)
    left, right = match[first[some]], match[first[some] + sizes[some] - 1]
    whole = (left >= 0) & (right - left == sizes[some] - 1)
    begin[some[whole]], end[some[whole]] = places[left[whole]], places[right[whole]] + 1
    before = np.maximum.accumulate(end)
    after = np.minimum.accumulate(begin[::-1])[::-1]
    for number in some[~whole]:
        gap = text[before[number] : after[number]]
        if gap.strip():
            begin[number] = before[number] + len(gap) - len(gap.lstrip())
            end[number] = before[number] + len(gap.rstrip())
    return begin, end
