"""The meaning of a sentence, independently of any language.

A piece of meaning that a language may express has a *slot*, a number unique within the
sentence: the ``id`` of its phrase or clause plus one of the offsets below.
"""

from dataclasses import dataclass, field

STRIDE = 16  # distance between ids

# Offsets within a noun phrase.
HEAD, DETERMINER, ADJECTIVE, COUNT, PART, PREPOSITION, POSSESSIVE, AND = 0, 1, 2, 4, 5, 6, 7, 8
# Offsets within a clause.
VERB, NEGATION, ADVERB, TIME, DEGREE, AUXILIARY, MARK, COMMA, STOP = 0, 1, 2, 3, 4, 5, 6, 7, 8


@dataclass(slots=True)
class NounPhrase:
    """A noun, a name or a pronoun with what modifies it.

    ``kind`` is ``noun``, ``person``, ``place``, ``organisation``, ``pronoun`` or ``year``;
    ``keys`` its concept (two for first and last name). ``determiner`` is ``definite``,
    ``indefinite``, ``bare``, ``count``, ``many``, ``this``, ``my``, ``our`` or ``owner``.
    """

    id: int
    kind: str
    keys: tuple[str, ...]
    plural: bool = False
    determiner: str = "bare"
    count: str = ""
    owner: "NounPhrase | None" = None
    adjectives: tuple[str, ...] = ()
    also: "NounPhrase | None" = None  # "the mother and the child"
    origin: "Oblique | None" = None  # "the doctor from Berlin"
    antecedent: "NounPhrase | None" = None  # of a pronoun

    @property
    def agrees_plural(self) -> bool:
        """Whether a verb with this subject is plural."""
        return self.plural or self.also is not None


@dataclass(slots=True)
class Oblique:
    """A prepositional phrase."""

    preposition: str
    phrase: NounPhrase


@dataclass(slots=True)
class Clause:
    """Who does what to whom, where, when and how; or, with ``predicate``, a property of someone.

    ``mood`` is ``present``, ``past``, ``will``, ``can`` or ``must``.
    """

    id: int
    subject: NounPhrase
    verb: str = ""
    object: NounPhrase | None = None
    obliques: list[Oblique] = field(default_factory=list)
    adverb: str = ""
    time: "str | Oblique" = ""  # an adverb, or "in the morning", "in 1987"
    fronted: bool = False  # the time comes first
    mood: str = "present"
    negated: bool = False
    predicate: str = ""  # an adjective
    degree: str = ""
    reported: "Clause | None" = None  # "says that ..."


@dataclass(slots=True)
class Meaning:
    """A main clause, optionally joined to a second one by ``link`` (``because``, ``and``)."""

    main: Clause
    link: str = ""
    second: Clause | None = None
    second_first: bool = False
    coordinated: bool = False

    def key(self) -> tuple[str, ...]:
        """The concepts in order, without number, tense, articles, adverbs' places or polarity."""
        found: list[str] = []
        for clause in (self.main, self.second):
            if clause is not None:
                _clause_key(clause, found)
        return tuple(found)


def _phrase_key(phrase: NounPhrase | None, found: list[str]) -> None:
    while phrase is not None:
        found.extend(phrase.adjectives)
        found.extend(phrase.keys if phrase.kind != "pronoun" else ("pronoun",))
        if phrase.owner is not None:
            found.extend(phrase.owner.keys)
        if phrase.origin is not None:
            found.extend(phrase.origin.phrase.keys)
        phrase = phrase.also


def _clause_key(clause: Clause, found: list[str]) -> None:
    _phrase_key(clause.subject, found)
    found.append(clause.verb or clause.predicate)
    _phrase_key(clause.object, found)
    for oblique in clause.obliques:
        _phrase_key(oblique.phrase, found)
    if clause.adverb:
        found.append(clause.adverb)
    if clause.reported is not None:
        _clause_key(clause.reported, found)
