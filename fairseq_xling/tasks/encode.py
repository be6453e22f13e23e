"""From texts and words to the rows of ids that an encoder reads, and back to characters.

n ids of a row, W words; of positions in a text, n units (words, or spelt-out subwords) in its
order. All shipped segmentations change only white space, so all letters are the same. One that
changes more is aligned as far as it agrees: a unit that cannot be found gets the gap between its
neighbours, and those after it keep theirs.
"""

import functools
import logging
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP, UNK
from fairseq_xling.tasks.items import Item
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.segment import words_of

if TYPE_CHECKING:
    from fairseq_xling.tasks.head_input import HeadInput  # imports torch


logger = logging.getLogger(__name__)

TOO_LONG = ("truncate", "refuse")  # what `Codec` accepts, and the options' help on it
TOO_LONG_HELP = (
    "items too long for the encoder: truncate (texts, candidates and questions "
    "are cut; tagged and parsed sentences, and the contexts of questions, are read in pieces), or "
    "refuse"
)
# What happens to an item that does not fit into one row.
CUT, PIECES = "cut", "read in pieces"
_VERBS = {CUT: "cuts it", PIECES: "reads it in pieces"}


@dataclass(frozen=True)
class Encoded:
    """An item as model input.

    Attributes:
        rows: framed ids, each (n,); most heads have one row for an item.
        segments: of each row, (n,): 0, and 1 in the second of two texts.
        fields: the head's own arrays.
    """

    rows: list[np.ndarray]
    segments: list[np.ndarray]
    fields: dict[str, np.ndarray] = field(default_factory=dict)


class Codec:
    """Encodes the texts of one language for a model with ``max_positions`` positions.

    Args:
        too_long: what happens to items that do not fit into one row: with ``truncate`` a head cuts
            them or reads them in pieces, and they are counted; ``refuse`` fails at the first.
        given: what heads read in addition to states.

    Attributes:
        vectors: of the words of its tokens, if heads read them.
    """

    def __init__(
        self,
        data: str | Path,
        lang: str,
        max_positions: int,
        too_long: str = "truncate",
        given: "HeadInput | None" = None,
    ):
        self.lang, self.max_positions, self.too_long = lang, max_positions, too_long
        self._encoder = TextEncoder.load(data, lang)
        self.vectors = given.of(self._encoder) if given else None
        self._words: dict[str, np.ndarray] = {}
        self._long: dict[tuple[str, str], list[str]] = {}

    def text(self, text: str) -> np.ndarray:
        """Ids of ``text`` (n,), without special symbols at its ends."""
        return self._encoder.encode([text])[0][:-1]

    def words(self, words: Sequence[str]) -> list[np.ndarray]:
        """Ids of each word (n,), at least one: a word that normalisation deletes is unknown."""
        new = [word for word in dict.fromkeys(words) if word not in self._words]
        for word, ids in zip(new, self._encoder.encode(new) if new else [], strict=True):
            self._words[word] = ids[:-1] if len(ids) > 1 else np.array([UNK])
        return [self._words[word] for word in words]

    def surfaces(self, words: Sequence[str]) -> list[list[str]]:
        """The text of each id of `words` in its word, possibly empty."""
        found = self._encoder.surfaces(words)
        return [surfaces or [word] for word, surfaces in zip(words, found, strict=True)]

    def segment(self, text: str) -> list[str]:
        """``text`` as the words of the data folder's segmentation."""
        return words_of(self._encoder.segment([text])[0])

    def frame(self, item: Item, *texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``<s> a </s>`` or ``<s> a </s> b </s>``: ids and segments, both (n,).

        If it is too long, ids are cut from the end of the longer text.
        """
        lengths = [len(text) for text in texts]
        room = self.max_positions - 1 - len(texts)
        if sum(lengths) > room:
            self.note_long(item, sum(lengths) + 1 + len(texts))
            while sum(lengths) > room:
                longest = int(np.argmax(lengths))
                others = sum(lengths) - lengths[longest]
                second = max([0, *lengths[:longest], *lengths[longest + 1 :]])
                lengths[longest] = max(room - others, min(second, lengths[longest] - 1))
        ids, segments = [np.array([CLS])], [np.zeros(1, dtype=np.int64)]
        for number, (text, length) in enumerate(zip(texts, lengths, strict=True)):
            ids += [text[:length], np.array([SEP])]
            segments.append(np.full(length + 1, number, dtype=np.int64))
        return np.concatenate(ids), np.concatenate(segments)

    def note_long(self, item: Item, length: int, how: str = CUT, limit: str = "") -> None:
        """Count an item that does not fit, or reject it.

        Args:
            length: its tokens.
            how: what happens to it, `CUT` or `PIECES`.
            limit: the limit that it exceeds, if not the model's positions.
        """
        limit = limit or f"the model's {self.max_positions} positions"
        if self.too_long == "refuse":
            raise UserError(
                f"{item.place}: {length} tokens, more than {limit} (`--too-long truncate` "
                f"{_VERBS[how]})"
            )
        self._long.setdefault((how, limit), []).append(item.place)

    def report(self) -> None:
        """Warn once about everything that was too long since the last report."""
        for (how, limit), places in self._long.items():
            line = "%d items are longer than %s and were %s; the first is %s"
            logger.warning(line, len(places), limit, how, places[0])
        self._long = {}


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
        # The letter that each of the units' matches, by longest blocks, or -1.
        match = np.full(sum(map(len, spelt)), -1)
        blocks = SequenceMatcher(None, "".join(spelt), letters, autojunk=False)
        for ours, theirs, size in blocks.get_matching_blocks():
            match[ours : ours + size] = np.arange(theirs, theirs + size)
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
