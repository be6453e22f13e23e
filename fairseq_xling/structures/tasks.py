"""What is predicted: candidates of a sentence, each a pair of spans with a label or `NONE`.

To add a task, register another function that lists the candidates of a sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fairseq_xling.registry import Registry
from fairseq_xling.structures.sentence import NONE, Link, Mention, Sentence


@dataclass(frozen=True)
class Candidate:
    """A pair of mentions.

    Attributes:
        first, second: the numbers of the two mentions.
        a, b: the mentions.
        label: what is annotated, or `NONE`.
    """

    first: int
    second: int
    a: Mention
    b: Mention
    label: str


class Task(Protocol):
    """One kind of candidates."""

    @staticmethod
    def candidates(sentence: Sentence) -> list[Candidate]:
        """Every candidate, in a fixed order."""

    @staticmethod
    def annotated(sentence: Sentence, labels: Sequence[str]) -> Sentence:
        """The sentence with predicted ``labels``, one for each candidate, instead of its own."""


tasks: Registry[type[Task]] = Registry("task")


@tasks.register("relations")
class Relations:
    """Ordered pairs of different mentions: a symmetric relation is annotated both ways."""

    @staticmethod
    def candidates(sentence: Sentence) -> list[Candidate]:
        """See `Task`; the pairs that the file names, if it does."""
        pairs = sentence.pairs
        if pairs is None:
            numbers = range(len(sentence.entities))
            pairs = tuple((i, j) for i in numbers for j in numbers if i != j)
        labels = {(one.first, one.second): one.label for one in sentence.relations}
        return [
            Candidate(i, j, sentence.entities[i], sentence.entities[j], labels.get((i, j), NONE))
            for i, j in pairs
        ]

    @staticmethod
    def annotated(sentence: Sentence, labels: Sequence[str]) -> Sentence:
        """See `Task`."""
        return replace(sentence, relations=_links(Relations.candidates(sentence), labels))


@tasks.register("roles")
class Roles:
    """Every trigger with every entity."""

    @staticmethod
    def candidates(sentence: Sentence) -> list[Candidate]:
        """See `Task`."""
        labels = {(one.first, one.second): one.label for one in sentence.arguments}
        return [
            Candidate(k, i, trigger, entity, labels.get((k, i), NONE))
            for k, trigger in enumerate(sentence.triggers)
            for i, entity in enumerate(sentence.entities)
        ]

    @staticmethod
    def annotated(sentence: Sentence, labels: Sequence[str]) -> Sentence:
        """See `Task`."""
        return replace(sentence, arguments=_links(Roles.candidates(sentence), labels))


def _links(candidates: Sequence[Candidate], labels: Sequence[str]) -> tuple[Link, ...]:
    return tuple(
        Link(one.first, one.second, label)
        for one, label in zip(candidates, labels, strict=True)
        if label != NONE
    )
