"""Sentences as ids of words and of parts of speech, without subwords: what a BiLSTM baseline reads.

n tokens of a row: the root, the words, the end.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairseq_xling.data.folder import SPECIALS, UNK
from fairseq_xling.errors import UserError
from fairseq_xling.models.bilstm_baseline import FIRST_TAG, FRAME, UNKNOWN
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.encode import Encoded
from fairseq_xling.tasks.heads import Head
from fairseq_xling.tasks.items import Item

ENDLESS = 1 << 30  # positions of a network that reads sentences of any length


def given_tags(head: type[Head], item: Item) -> Sequence[str]:
    """The parts of speech of a sentence.

    Raises:
        UserError: for a sentence without; names file and line.
    """
    tags = head.given_tags(item)
    if set(tags) == {"_"}:
        raise UserError(f"{item.place}: must have parts of speech, got '_'")
    return tags


def count_contents(
    head: type[Head], items: Iterable[Item], least: int
) -> tuple[list[str], list[str]]:
    """The words that occur ``least`` times in ``items``, and all parts of speech: both sorted.

    Raises:
        UserError: as `given_tags`.
    """
    words: Counter[str] = Counter()
    tags: set[str] = set()
    for item in items:
        words.update(item.words)
        tags.update(given_tags(head, item))
    return sorted(word for word, count in words.items() if count >= least), sorted(tags)


class WordTagCodec:
    """A `Codec` for which each word is one id."""

    max_positions = ENDLESS
    vectors = None  # a model learns its own

    def __init__(self, lang: str, words: Iterable[str], tags: Iterable[str]):
        self.lang = lang
        self._words = _numbers(words, SPECIALS)
        self._tags = _numbers(tags, FIRST_TAG)

    def words(self, words: Sequence[str]) -> list[np.ndarray]:
        """The id of each word, (1,)."""
        return [np.array([self._words.get(word, UNK)]) for word in words]

    def tags(self, tags: Sequence[str]) -> np.ndarray:
        """(n,) numbers of the root's, the words' and the end's tag."""
        inside = [self._tags.get(tag, UNKNOWN) for tag in tags]
        return np.array([FRAME, *inside, FRAME])

    def report(self) -> None:
        """Nothing is cut, so there is nothing to report of a file's items."""


class WordTagDataset(ItemDataset):
    """`ItemDataset` whose fields also have ``tags`` (B, n)."""

    def encode(self, item: Item, codec: WordTagCodec) -> Encoded:
        """See `ItemDataset`."""
        found = self.head.encode(item, codec)
        found.fields["tags"] = codec.tags(given_tags(type(self.head), item))
        return found


def _numbers(names: Iterable[str], first: int) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names, start=first)}
