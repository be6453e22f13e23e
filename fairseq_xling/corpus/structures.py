"""Sentences with gold trees, mentions, events with their arguments, and relations.

The meanings are those of the corpus, with more of what relations and arguments are about: persons
and organisations get an origin ("the doctor from Berlin"), things an owner ("Anna's book"), clauses
a place and a recipient. What is annotated follows from the meaning, and is the same in all
languages:

    events      a verb, and its class
    roles       Agent (the subject), Theme (the object), Recipient, Place
    relations   origin (person, place), owner (owner, owned), seat (organisation, place)

All other pairs have none: a place of the clause is nobody's origin.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from fairseq_xling.corpus import inventory
from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.corpus import sampler, scene
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.realiser import Sentence, Token
from fairseq_xling.corpus.sampler import Topic, Uniform

SHORTEST, LONGEST = 5, 30  # words of the English sentence
_ORIGIN, _OWNER, _ORGANISATION, _PLACE, _RECIPIENT = 0.35, 0.25, 0.15, 0.35, 0.7
_PLACES = frozenset(("in", "on", "at", "near", "under", "behind", "through", "to"))
_KINDS = {"pf": "PER", "pm": "PER", "a": "ANIMAL", "b": "FAC", "v": "VEH"}
_PRONOUNS = {"he": "PER", "she": "PER"}
_THING = "THING"


def draw_structure(
    seed: int, index: int, domain: str, english: Callable[[Meaning], Sentence]
) -> Meaning:
    """The meaning of sentence ``index``; it depends on these alone."""
    source = sampler(domain)
    topic, uniform = scene(seed, index, domain)
    while True:
        meaning = source.meaning(topic, uniform)
        _Enriched(topic, uniform, meaning).enrich()
        if SHORTEST <= len(english(meaning).tokens) <= LONGEST:
            return meaning


class _Enriched:
    """Adds origins, owners, places and recipients to a meaning."""

    def __init__(self, topic: Topic, uniform: Uniform, meaning: Meaning):
        self.topic, self.uniform, self.meaning = topic, uniform, meaning
        ids = [clause.id for clause in clauses(meaning)]
        ids += [phrase.id for clause in clauses(meaning) for phrase, _ in phrases(clause)]
        self.next_id = max(ids) + 64 * m.STRIDE  # beyond those of times and other modifiers

    def name(self, kind: str, key: str) -> NounPhrase:
        self.next_id += m.STRIDE
        return NounPhrase(self.next_id, kind, (key,))

    def enrich(self) -> None:
        u, topic = self.uniform, self.topic
        for clause in clauses(self.meaning):
            if topic.organisations and clause.verb and u() < _ORGANISATION:
                clause.subject = self.name("organisation", topic.organisations.pick(u()))
            if clause.verb in inventory.GIVING and clause.object and u() < _RECIPIENT:
                kept = [one for one in clause.obliques if one.preposition != "tor"]
                phrase = self.name("person", topic.persons.pick(u()))
                if u() < 0.5:
                    phrase = replace(
                        phrase, kind="noun", keys=(topic.people.pick(u()),), determiner="definite"
                    )
                clause.obliques = [*kept[:1], Oblique("tor", phrase)]
            elif clause.verb and not clause.obliques and u() < _PLACE:
                clause.obliques = [Oblique("in", self.name("place", topic.places.pick(u())))]
            for phrase, _ in phrases(clause):
                self.modify(phrase)

    def modify(self, phrase: NounPhrase) -> None:
        u, kind = self.uniform, mention_type(phrase)
        if kind in ("PER", "ORG") and phrase.kind != "pronoun" and u() < _ORIGIN:
            phrase.origin = Oblique("from", self.name("place", self.topic.places.pick(u())))
        owned = phrase.kind == "noun" and phrase.determiner not in ("count", "many", "owner")
        if owned and kind and u() < _OWNER:
            phrase.determiner = "owner"
            phrase.owner = self.name("person", self.topic.persons.pick(u()))


def clauses(meaning: Meaning) -> Iterator[Clause]:
    """All clauses of a meaning, those that are reported, too."""
    for clause in (meaning.main, meaning.second):
        while clause is not None:
            yield clause
            clause = clause.reported


def phrases(clause: Clause) -> Iterator[tuple[NounPhrase, str]]:
    """The phrases of a clause with their roles, "" for none; times are left out."""
    found = [(clause.subject, "Agent"), (clause.object, "Theme")]
    for oblique in clause.obliques:
        role = "Recipient" if oblique.preposition == "tor" else ""
        if oblique.preposition in _PLACES and mention_type(oblique.phrase) != "PER":
            role = "Place"
        found.append((oblique.phrase, role))
    for phrase, role in found:
        while phrase is not None:
            yield phrase, role
            phrase = phrase.also


def mention_type(phrase: NounPhrase | None) -> str:
    """The type of a mention; empty for what is none, such as a time.

    >>> mention_type(NounPhrase(16, "noun", ("doctor",))), mention_type(NounPhrase(16, "year", ()))
    ('PER', '')
    """
    if phrase is None or phrase.kind == "year":
        return ""
    if phrase.kind in inventory.ENTITIES:
        return inventory.ENTITIES[phrase.kind]
    if phrase.kind == "pronoun":
        return _PRONOUNS.get(phrase.keys[0]) or mention_type(phrase.antecedent) or _THING
    kind = inventory.NOUN_KINDS[phrase.keys[0]]
    return "" if kind == "time" else _KINDS.get(kind, _THING)


def annotate(meaning: Meaning, sentence: Sentence, name: str) -> dict[str, Any]:
    """A sentence with its annotation, as a line of `fairseq-xling struct` files has it.

    Mentions are in the order of the sentence.
    """
    tokens = sentence.tokens
    mentions: list[tuple[tuple[int, int], str, int]] = []  # span, type, id of the phrase
    events: list[tuple[tuple[int, int], str, int]] = []
    relations: list[tuple[int, int, str]] = []  # by ids of phrases
    roles: list[tuple[int, int, str]] = []  # by ids of clause and phrase
    for clause in clauses(meaning):
        if clause.verb:
            span = _span(tokens, (clause.id,), (clause.id,))
            events.append((span, inventory.EVENT_CLASSES[clause.verb], clause.id))
        for phrase, role in phrases(clause):
            own = [(phrase, role)]
            if phrase.origin is not None:
                own.append((phrase.origin.phrase, ""))
                kind = "origin" if mention_type(phrase) == "PER" else "seat"
                relations.append((phrase.id, phrase.origin.phrase.id, kind))
            if phrase.owner is not None:
                own.append((phrase.owner, ""))
                relations.append((phrase.owner.id, phrase.id, "owner"))
            for one, what in own:
                if not mention_type(one):
                    continue
                span = _span(tokens, (one.id,), (one.id, one.id + m.PART))
                mentions.append((span, mention_type(one), one.id))
                if what and clause.verb:
                    roles.append((clause.id, one.id, what))
    mentions.sort()
    events.sort()
    entity = {number: place for place, (_, _, number) in enumerate(mentions)}
    trigger = {number: place for place, (_, _, number) in enumerate(events)}
    return {
        "id": name,
        "words": sentence.words,
        "upos": [token.upos for token in tokens],
        "heads": [token.head for token in tokens],
        "deprels": [token.deprel for token in tokens],
        "entities": [{"span": list(span), "type": kind} for span, kind, _ in mentions],
        "triggers": [{"span": list(span), "type": kind} for span, kind, _ in events],
        "relations": [
            {"from": entity[a], "to": entity[b], "label": label}
            for a, b, label in relations
            if a in entity and b in entity
        ],
        "arguments": [
            {"trigger": trigger[a], "entity": entity[b], "role": role} for a, b, role in roles
        ],
    }


def _span(tokens: Sequence[Token], heads: Sequence[int], slots: Sequence[int]) -> tuple[int, int]:
    """The word that heads a phrase or clause, with the neighbours that are its parts."""
    own = [n for n, token in enumerate(tokens) if set(token.slots) & set(heads)]
    first = next((n for n in own if tokens[n].head - 1 not in own), None)
    if first is None:
        raise ValueError(f"no word of {' '.join(token.form for token in tokens)} has {heads}")
    end = first + 1
    while end < len(tokens) and set(tokens[end].slots) & set(slots):
        end += 1
    while first > 0 and set(tokens[first - 1].slots) & set(slots):
        first -= 1
    return first, end
