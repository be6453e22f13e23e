"""What the languages share in expressing a meaning."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.meaning import Clause, Meaning
from fairseq_xling.corpus.tokens import Sentence, Token
from fairseq_xling.registry import Registry

LANGUAGES: Registry["Language"] = Registry("synthetic language", "fairseq_xling.corpus.languages")

# Grammatical features of a citation form, for the dictionary: languages fill what they distinguish.
NOUN_FEATURES = ("singular", "plural")
VERB_FEATURES = ("present", "present plural", "past", "past plural", "infinitive")


class Node:
    """A word in the making: its head is another node, or None while it heads its phrase."""

    __slots__ = ("concept", "deprel", "entity", "form", "head", "lemma", "slots", "upos")

    def __init__(
        self,
        form: str,
        lemma: str,
        upos: str,
        deprel: str = "root",
        slots: tuple[int, ...] = (),
        head: "Node | None" = None,
        concept: str = "",
        entity: str = "O",
    ):
        self.form, self.lemma, self.upos, self.deprel = form, lemma, upos, deprel
        self.slots, self.head, self.concept, self.entity = slots, head, concept or lemma, entity


def attach(head: Node, deprel: str, *dependents: Node) -> None:
    """Attach ``dependents`` to ``head``."""
    for node in dependents:
        node.head, node.deprel = head, deprel


def finish(nodes: Iterable[Node]) -> list[Token]:
    """Nodes in their final order as tokens with numbered heads."""
    nodes = list(nodes)
    place = {id(node): number for number, node in enumerate(nodes, start=1)}
    return [
        Token(
            node.form,
            node.lemma,
            node.upos,
            0 if node.head is None else place[id(node.head)],
            node.deprel,
            node.entity,
            node.concept,
            node.slots,
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
        mark = Node(conjunction, conjunction, *kind, (at + m.MARK,), verb, meaning.link)
        if meaning.second_first:
            comma = Node(",", ",", "PUNCT", "punct", (at + m.COMMA,), verb)
            nodes = [mark, *more, comma, *nodes]
        else:
            nodes = [*nodes, mark, *more]
    stop = Node(".", ".", "PUNCT", "punct", (meaning.main.id + m.STOP,), root)
    return finish([*nodes, stop])


class Language(ABC):
    """One synthetic language: how it expresses a meaning, and its words for each concept."""

    code: str
    spaced = True  # whether its text has spaces between words

    @abstractmethod
    def tokens(self, meaning: Meaning) -> list[Token]:
        """The words that express ``meaning``, with their annotation."""

    @abstractmethod
    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The forms of every concept that is one word: (concept, feature) -> forms.

        Features of nouns are ``singular`` and ``plural``, those of verbs the names in
        ``VERB_FEATURES``; every other word has the empty feature. A language without a
        distinction repeats the form.
        """

    def sentence(self, meaning: Meaning) -> Sentence:
        """``meaning`` as a sentence of this language."""
        tokens = self.tokens(meaning)
        return Sentence(self.code, tokens, self.join(token.form for token in tokens))

    def join(self, words: Iterable[str]) -> str:
        """The text of ``words``."""
        return (" " if self.spaced else "").join(words)
