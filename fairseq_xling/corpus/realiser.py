"""Words with their annotation, sentences, and what the languages share in expressing a meaning."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fairseq_xling.core.registry import Registry
from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.inventory import ENTITIES
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique


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


LANGUAGES: Registry["Language"] = Registry("synthetic language", "fairseq_xling.corpus.languages")

# Grammatical features of a citation form, for the dictionary: languages fill what they distinguish.
NOUN_FEATURES = ("singular", "plural")
VERB_FEATURES = ("present", "present plural", "past", "past plural", "infinitive")


class Node:
    """A word in the making: its head is another node, or None while it heads its phrase.

    The lemma is the form, and the concept the lemma, unless another is named.
    """

    __slots__ = ("concept", "deprel", "entity", "form", "head", "lemma", "slots", "upos")

    def __init__(
        self,
        form: str,
        upos: str,
        deprel: str = "root",
        slots: tuple[int, ...] = (),
        head: "Node | None" = None,
        concept: str = "",
        entity: str = "O",
        lemma: str = "",
    ):
        self.form, self.lemma, self.upos, self.deprel = form, lemma or form, upos, deprel
        self.slots, self.head, self.entity = slots, head, entity
        self.concept = concept or self.lemma


def attach(head: Node, deprel: str, *dependents: Node) -> None:
    """Attach ``dependents`` to ``head``."""
    for node in dependents:
        node.head, node.deprel = head, deprel


def attached(head: Node, deprel: str, found: tuple[list[Node], Node]) -> list[Node]:
    """The words of a phrase or clause, whose own head is attached to ``head``."""
    nodes, top = found
    attach(head, deprel, top)
    return nodes


def finish(nodes: list[Node]) -> list[Token]:
    """Nodes in their final order as tokens with numbered heads."""
    place = {id(node): number for number, node in enumerate(nodes, start=1)}
    return [
        Token(
            *(node.form, node.lemma, node.upos, 0 if node.head is None else place[id(node.head)]),
            *(node.deprel, node.entity, node.concept, node.slots),
        )
        for node in nodes
    ]


def joined(
    meaning: Meaning, clause: Callable[[Clause], tuple[list[Node], Node]], conjunction: str
) -> list[Token]:
    """A sentence of one or two clauses, the second introduced by ``conjunction``.

    ``clause`` returns a clause's words in order and its head. This is the order of languages such
    as English: the conjunction before its clause, a comma only after a clause that comes first.
    """
    nodes, root = clause(meaning.main)
    if meaning.second is not None:
        more, verb = clause(meaning.second)
        attach(root, "conj" if meaning.coordinated else "advcl", verb)
        at = meaning.second.id
        kind = ("CCONJ", "cc") if meaning.coordinated else ("SCONJ", "mark")
        mark = Node(conjunction, *kind, (at + m.MARK,), verb, meaning.link)
        if meaning.second_first:
            comma = Node(",", "PUNCT", "punct", (at + m.COMMA,), verb)
            nodes = [mark, *more, comma, *nodes]
        else:
            nodes = [*nodes, mark, *more]
    stop = Node(".", "PUNCT", "punct", (meaning.main.id + m.STOP,), root)
    return finish([*nodes, stop])


class Language(ABC):
    """One synthetic language: how it expresses a meaning, and its words for each concept."""

    code: str
    spaced = True  # whether its text has spaces between words
    conjunction = "and"  # between two phrases
    adverbs: Mapping[str, str] = {}  # the form of each, if it is not the key; "=" joins words

    @abstractmethod
    def tokens(self, meaning: Meaning) -> list[Token]:
        """The words that express ``meaning``, with their annotation."""

    def phrase(self, phrase: NounPhrase, *case: str) -> tuple[list[Node], Node]:
        """The words of a noun phrase and the one that heads them."""
        raise NotImplementedError

    def oblique(self, oblique: Oblique) -> tuple[list[Node], Node]:
        """The words of a prepositional phrase and the head of the phrase in it."""
        raise NotImplementedError

    @abstractmethod
    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The forms of every concept that is one word: (concept, feature) -> forms.

        Features of nouns are ``singular`` and ``plural``, those of verbs the names in
        ``VERB_FEATURES``; every other word has the empty feature. A language without a
        distinction repeats the form.
        """

    def with_conjunct(
        self, nodes: list[Node], head: Node, phrase: NounPhrase, *case: str
    ) -> list[Node]:
        """``nodes`` of ``phrase``, and after them the phrase that is joined to it, if any."""
        if phrase.also is None:
            return nodes
        more, noun = self.phrase(phrase.also, *case)
        attach(head, "conj", noun)
        word, slots = self.conjunction, (phrase.also.id + m.AND,)
        return [*nodes, Node(word, "CCONJ", "cc", slots, noun, "and"), *more]

    def adverb(self, key: str, slot: int, root: Node) -> list[Node]:
        """The words of an adverb of ``root``."""
        first, *rest = (
            Node(form, "ADV", "advmod", (slot,), root, key + ".r")
            for form in self.adverbs.get(key, key).split("=")
        )
        attach(first, "fixed", *rest)
        return [first, *rest]

    def time(self, clause: Clause, root: Node) -> list[Node]:
        """The words for when something happens."""
        if isinstance(clause.time, Oblique):
            return attached(root, "obl", self.oblique(clause.time))
        return self.adverb(clause.time, clause.id + m.TIME, root) if clause.time else []

    def name_nodes(
        self, phrase: NounPhrase, parts: Iterable[tuple[str, str]], first: bool
    ) -> tuple[list[Node], Node]:
        """A name of ``parts``, (form, concept), and its head: the ``first`` part or the last."""
        label = ENTITIES[phrase.kind]
        nodes = [Node(form, "PROPN", concept=key, entity="I-" + label) for form, key in parts]
        nodes[0].entity = "B-" + label
        head = nodes[0] if first else nodes[-1]
        head.slots = (phrase.id,)
        for node in nodes:
            if node is not head:
                node.slots = (phrase.id + m.PART,)
                attach(head, "flat" if phrase.kind == "person" else "compound", node)
        return nodes, head

    def sentence(self, meaning: Meaning) -> Sentence:
        """``meaning`` as a sentence of this language."""
        tokens = self.tokens(meaning)
        text = (" " if self.spaced else "").join(token.form for token in tokens)
        return Sentence(self.code, tokens, text)
