"""Words with their gold annotation, sentences, and sentences parallel in several languages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Token(NamedTuple):
    """One word.

    ``head`` counts words from 1, 0 is the root. ``entity`` is IOB2 (``O``, ``B-PER``, ``I-ORG``).
    ``concept`` is the key of the concept, or the function word's name. ``slots`` numbers the
    pieces of the meaning that this word stands for: words of two languages that share a slot
    are aligned; a word without a slot (an auxiliary, a classifier) is aligned to nothing.
    """

    form: str
    lemma: str
    upos: str
    head: int
    deprel: str
    entity: str
    concept: str
    slots: tuple[int, ...]


@dataclass(slots=True)
class Sentence:
    """A sentence of one language: its words, and its text as a corpus would hold it."""

    language: str
    tokens: list[Token]
    text: str

    @property
    def words(self) -> list[str]:
        """The forms, one per word, also where the text has no spaces between them."""
        return [token.form for token in self.tokens]


def align(source: Iterable[Token], target: Iterable[Token]) -> set[tuple[int, int]]:
    """Pairs (i, j), counted from 0, of the words that share a slot.

    >>> the, cat, die, katze = (
    ...     Token(form, form, "X", 0, "root", "O", "", slots)
    ...     for form, slots in [("the", (1,)), ("cat", (2,)), ("die", (1,)), ("Katze", (2,))])
    >>> sorted(align([the, cat], [katze]))
    [(1, 0)]
    """
    places: dict[int, list[int]] = {}
    for j, token in enumerate(target):
        for slot in token.slots:
            places.setdefault(slot, []).append(j)
    return {
        (i, j)
        for i, token in enumerate(source)
        for slot in token.slots
        for j in places.get(slot, ())
    }


@dataclass(slots=True)
class ParallelSentence:
    """One meaning in several languages.

    ``key`` names the content of the meaning (its concepts in order, without number, tense,
    articles or polarity): sentences with the same text in any language have the same key, but
    for the few homographs of the lexicons.
    """

    index: int
    topic: str
    key: tuple[str, ...]
    sentences: dict[str, Sentence]

    def alignment(self, source: str, target: str) -> set[tuple[int, int]]:
        """Gold word alignment: pairs (i in ``source``, j in ``target``), counted from 0."""
        return align(self.sentences[source].tokens, self.sentences[target].tokens)
