"""Representations of a node that are learnt: a name for each word, each name with a row of a table.

The transfer note, section 3: a node is the concatenation of a multilingual word vector (see
`fairseq_xling.structures.words`), the part of speech, the type of the mention that covers the word,
and the relation to the head. To add one, register another function of a sentence.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.registry import Registry
from fairseq_xling.structures.sentence import Mention, Sentence

WORD = "word"  # the feature that is not learnt
OUTSIDE = "O"  # the type of a word that no mention covers
UNKNOWN = 0  # row of names that the training data lack


@dataclass(frozen=True)
class Feature:
    """One learnt feature.

    Attributes:
        names: the name of each word of a sentence, (W,).
        of_tree: whether the sentence must have a tree.
    """

    names: Callable[[Sentence], Sequence[str]]
    of_tree: bool


features: Registry[Feature] = Registry("feature")
Names = Callable[[Sentence], Sequence[str]]


def feature(name: str, of_tree: bool) -> Callable[[Names], Names]:
    """Registers the function below as `Feature` ``name``."""

    def add(names: Names) -> Names:
        features.register(name)(Feature(names, of_tree))
        return names

    return add


@feature("pos", of_tree=True)
def pos(sentence: Sentence) -> Sequence[str]:
    """The part of speech, as the file has it; UPOS where languages are to share it."""
    return sentence.upos


@feature("entity", of_tree=False)
def entity(sentence: Sentence) -> Sequence[str]:
    """The type of the mention that covers the word."""
    return covering(sentence.entities, len(sentence.words))


@feature("relation", of_tree=True)
def relation(sentence: Sentence) -> Sequence[str]:
    """The relation to the head, its universal part: ``nmod`` of ``nmod:poss``."""
    return [name.partition(":")[0] for name in sentence.deprels]


@feature("trigger", of_tree=False)
def trigger(sentence: Sentence) -> Sequence[str]:
    """The type of the event whose trigger covers the word."""
    return covering(sentence.triggers, len(sentence.words))


def covering(mentions: Sequence[Mention], size: int) -> list[str]:
    """The type of the mention that covers each of ``size`` words; the shortest of several, and of
    equally short ones the first.

    >>> covering([Mention(0, 3, "ORG"), Mention(1, 2, "LOC")], 4)
    ['ORG', 'LOC', 'ORG', 'O']
    """
    found = [OUTSIDE] * size
    for one in sorted(reversed(mentions), key=lambda one: one.start - one.end):
        found[one.start : one.end] = [one.type] * (one.end - one.start)
    return found


def parse_features(text: str) -> tuple[str, ...]:
    """Different names of features separated by commas.

    >>> parse_features("word,pos")
    ('word', 'pos')

    Raises:
        UserError: for an unknown name, one given twice, or none.
    """
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    for name in names:
        if name != WORD:
            features.check(name)
    if not names or len(set(names)) < len(names):
        raise UserError(f"`--features` must be different names, at least one, got {text!r}")
    return names


class Tables:
    """The rows of the learnt features.

    Attributes:
        names: of each feature, the names of its rows from 1; row 0 is of unknown names.
    """

    def __init__(self, names: dict[str, list[str]]):
        self.names = names
        self._rows = {
            feature: {name: row for row, name in enumerate(known, start=1)}
            for feature, known in names.items()
        }

    @classmethod
    def of(cls, sentences: Iterable[Sentence], chosen: Sequence[str]) -> "Tables":
        """The names that occur in training data, sorted; the feature ``word`` has no table."""
        found: dict[str, set[str]] = {name: set() for name in chosen if name != WORD}
        for sentence in sentences:
            for name, seen in found.items():
                seen.update(features[name].names(sentence))
        return cls({name: sorted(seen) for name, seen in found.items()})

    def rows(self, sentence: Sentence) -> np.ndarray:
        """(F, W) int64, the row of each of F features for each word."""
        found = np.zeros((len(self.names), len(sentence.words)), dtype=np.int64)
        for number, (name, rows) in enumerate(self._rows.items()):
            found[number] = [rows.get(one, UNKNOWN) for one in features[name].names(sentence)]
        return found
