"""A sentence with its tree, mentions, triggers, relations and arguments, and its candidates.

Spans are half-open and count words from 0; heads count from 1, 0 is the root. What is predicted is
a label, or `NONE`, of each candidate, a pair of spans. To add a task, register another `Task`.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.registry import Registry
from fairseq_xling.tasks.formats import refuse_withheld
from fairseq_xling.tasks.formats.conllu import tree_fault
from fairseq_xling.tasks.items import Item

NONE = "NONE"  # the label of a candidate that is not annotated


@dataclass(frozen=True)
class Mention:
    """An entity mention, or the trigger of an event: words [start, end)."""

    start: int
    end: int
    type: str


@dataclass(frozen=True)
class Link:
    """A labelled pair: of two entities a relation, or of a trigger and an entity its role."""

    first: int
    second: int
    label: str


@dataclass(frozen=True)
class Sentence(Item):
    """One sentence; its tree, if it has one, is W of ``upos``, ``heads`` and ``deprels``."""

    name: str  # its id in the file
    words: tuple[str, ...]  # W, at least one
    upos: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    deprels: tuple[str, ...] = ()
    entities: tuple[Mention, ...] = ()
    triggers: tuple[Mention, ...] = ()
    relations: tuple[Link, ...] = ()  # between entities, directed
    arguments: tuple[Link, ...] = ()  # of triggers; the second is an entity
    pairs: tuple[tuple[int, int], ...] | None = None  # candidates for relations; None: all ordered

    @property
    def has_tree(self) -> bool:
        """Whether its words have heads."""
        return bool(self.heads)

    def with_tree(
        self, upos: Sequence[str], heads: Sequence[int], deprels: Sequence[str]
    ) -> "Sentence":
        """The sentence with another tree; errors as `check`."""
        return check(replace(self, upos=tuple(upos), heads=tuple(heads), deprels=tuple(deprels)))


def check(sentence: Sentence) -> Sentence:
    """``sentence``, if it keeps every rule; else a UserError with file and line."""
    place, size = sentence.place, len(sentence.words)
    if not size:
        raise UserError(f"{place}: `words` must have at least 1 word, got 0")
    check_bound("sentence", size, place)
    refuse_withheld(place, sentence.words)
    lengths = {name: len(getattr(sentence, name)) for name in ("upos", "heads", "deprels")}
    for name, length in lengths.items() if any(lengths.values()) else ():
        if length != size:
            raise UserError(
                f"{place}: `{name}` must have {size} values, as many as words, got {length}"
            )
    for word, head in enumerate(sentence.heads, start=1):
        if not 0 <= head <= size:
            raise UserError(
                f"{place}: `heads` must be numbers from 0 to {size}, got {head} at word {word}"
            )
    if sentence.heads and (fault := tree_fault(sentence.heads)):
        raise UserError(f"{place}: `heads`, word {fault[0] + 1}: {fault[1]}")
    for what in ("entities", "triggers"):
        for number, one in enumerate(getattr(sentence, what)):
            if not 0 <= one.start < one.end <= size:
                raise UserError(
                    f"{place}: `{what}` {number}: `span` must be [a, b) with 0 <= a < b <= {size}, "
                    f"got [{one.start}, {one.end}]"
                )
    entities, triggers = len(sentence.entities), len(sentence.triggers)
    relations = entities**2 if sentence.pairs is None else len(sentence.pairs)
    check_bound("mentions", max(relations, triggers * entities), place)
    _check_links(place, "relations", sentence.relations, (entities, "entity", entities, "entity"))
    _check_links(place, "arguments", sentence.arguments, (triggers, "trigger", entities, "entity"))
    return sentence


def _check_links(
    place: str, what: str, links: Sequence[Link], known: tuple[int, str, int, str]
) -> None:
    firsts, first, seconds, second = known
    seen: set[tuple[int, int]] = set()
    for number, link in enumerate(links):
        for index, size, kind in ((link.first, firsts, first), (link.second, seconds, second)):
            if not 0 <= index < size:
                raise UserError(
                    f"{place}: `{what}` {number}: must name one of {size} {kind} mentions from 0, "
                    f"got {index}"
                )
        if (link.first, link.second) in seen:
            raise UserError(
                f"{place}: `{what}` {number}: the pair {link.first}, {link.second} must have one "
                "label, got a second"
            )
        if link.label == NONE:
            raise UserError(
                f"{place}: `{what}` {number}: {NONE} is the label of pairs that are not annotated; "
                "leave the entry out"
            )
        seen.add((link.first, link.second))


@dataclass(frozen=True)
class Candidate:
    """A pair of mentions ``a`` and ``b``, their numbers, and their label or `NONE`."""

    first: int
    second: int
    a: Mention
    b: Mention
    label: str


@dataclass(frozen=True)
class Task:
    """One kind of candidates, by attributes of a sentence: what is annotated, and the mentions that
    come first; entities come second."""

    links: str
    firsts: str

    def candidates(self, sentence: Sentence) -> list[Candidate]:
        """Every candidate, in a fixed order: the pairs of relations that the file names, if it
        does, or else every first mention with every other entity."""
        firsts, entities = getattr(sentence, self.firsts), sentence.entities
        pairs = sentence.pairs if self.firsts == "entities" else None
        if pairs is None:
            every = itertools.product(range(len(firsts)), range(len(entities)))
            pairs = tuple((i, j) for i, j in every if self.firsts != "entities" or i != j)
        labels = {(one.first, one.second): one.label for one in getattr(sentence, self.links)}
        return [Candidate(i, j, firsts[i], entities[j], labels.get((i, j), NONE)) for i, j in pairs]

    def annotated(self, sentence: Sentence, labels: Sequence[str]) -> Sentence:
        """The sentence with predicted ``labels``, one for each candidate, instead of its own."""
        links = tuple(
            Link(one.first, one.second, label)
            for one, label in zip(self.candidates(sentence), labels, strict=True)
            if label != NONE
        )
        return replace(sentence, **{self.links: links})


tasks: Registry[Task] = Registry("task")
# A symmetric relation is annotated both ways.
RELATIONS = tasks.register("relations")(Task("relations", "entities"))
ROLES = tasks.register("roles")(Task("arguments", "triggers"))
