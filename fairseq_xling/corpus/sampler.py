"""Draw meanings: which topic, which verb, who, whom, where; all frequencies are skewed.

Two languages can be aligned without any shared word only if each concept can be identified by its
contexts. So nothing here is exchangeable: topics have different weights, every list of a topic has
a Zipfian distribution with its own exponent, verbs select their arguments and nouns their
adjectives, and each noun has its own preferences for number, articles and modifiers.
"""

import zlib
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fairseq_xling.corpus import inventory
from fairseq_xling.corpus.meaning import STRIDE, Clause, Meaning, NounPhrase, Oblique

Uniform = Callable[[], float]


def trait(name: str, low: float, high: float) -> float:
    """A number in [low, high) that is ``name``'s own, the same in every run.

    >>> 0 <= trait("dog", 0, 1) < 1 and trait("dog", 0, 1) == trait("dog", 0, 1)
    True
    """
    return low + (high - low) * zlib.crc32(name.encode()) / 2**32


class Table:
    """Items with Zipfian weights: item r (from 0) has weight (r + 1) ** -exponent."""

    def __init__(self, values: Sequence[str], exponent: float):
        self.values = list(values)
        weights = [(rank + 1) ** -exponent for rank in range(len(self.values))]
        total = sum(weights)
        self._cumulative = [value / total for value in accumulate(weights)]
        self._last = len(self.values) - 1

    def pick(self, uniform: float) -> str:
        return self.values[min(bisect(self._cumulative, uniform), self._last)]


@dataclass(frozen=True)
class Frame:
    """A verb with its arguments in one topic."""

    verb: str
    subjects: Table
    objects: Table | None
    obliques: tuple[tuple[str, Table], ...]
    adverbs: Table


@dataclass(frozen=True)
class Topic:
    """A topic's verbs and words; ``order`` and ``salt`` come from the domain."""

    name: str
    weight: float
    frames: list[Frame]
    frame: Table
    nouns: Table
    people: Table
    persons: Table
    places: Table
    organisations: Table | None


@dataclass(frozen=True)
class Domain:
    """Frequencies. Two domains share every word, and differ in all frequencies."""

    salt: str
    reverse: bool  # rare topics become common, and the lists run backwards
    topic_power: float = 2.2
    past: float = 0.5
    second: float = 0.2
    adverb: float = 0.22
    time: float = 0.14


DOMAINS = {
    "default": Domain(salt="", reverse=False),
    "other": Domain(salt="other ", reverse=True, past=0.2, second=0.3, adverb=0.3, time=0.08),
}


class Sampler:
    """Draws meanings with the frequencies of a ``domain``, a key of ``DOMAINS``."""

    def __init__(self, domain: str = "default"):
        self.domain = DOMAINS[domain]
        self.topics = [self._topic(name) for name in inventory.TOPICS]
        power = self.domain.topic_power
        weights = [topic.weight**power for topic in self.topics]
        if self.domain.reverse:
            ranks = sorted(range(len(weights)), key=weights.__getitem__)
            turned = sorted(weights, reverse=True)
            weights = [turned[ranks.index(place)] for place in range(len(weights))]
        total = sum(weights)
        self._cumulative = [value / total for value in accumulate(weights)]
        self._links = self._table("links", inventory.LINKS)
        self._reporting = self._table("reporting", inventory.REPORTING)
        self._counts = self._table("counts", inventory.COUNTS)
        self._times = self._table("times", inventory.TIME_ADVERBS)
        self._seasons = self._table(
            "seasons", [key for key, kind in inventory.NOUN_KINDS.items() if kind == "time"]
        )
        self._adjectives = {
            noun: Table(adjectives, trait(noun + " adjectives", 0.5, 2.2))
            for noun, adjectives in inventory.NOUN_ADJECTIVES.items()
        }
        self._surnames = self._table("surnames", inventory.SURNAMES)

    def _table(
        self, name: str, values: Sequence[str], low: float = 0.6, high: float = 1.8
    ) -> Table:
        values = list(values)[:: -1 if self.domain.reverse else 1]
        return Table(values, trait(self.domain.salt + name, low, high))

    def _own_order(self, name: str, values: Sequence[str]) -> list[str]:
        return sorted(values, key=lambda value: trait(f"{self.domain.salt}{name} {value}", 0, 1))

    def _topic(self, name: str) -> Topic:
        lines = dict(inventory.TOPICS[name])
        weight, nouns = float(lines.pop("@weight")), lines.pop("@nouns").split()
        frames = [self._frame(name, verb, line) for verb, line in lines.items()]
        organisations = inventory.TOPIC_ORGANISATIONS.get(name)
        return Topic(
            name,
            weight,
            frames,
            self._table(name + " verbs", [str(place) for place in range(len(frames))], 0.5, 1.3),
            self._table(name + " nouns", nouns, 0.7, 1.3),
            self._table(
                name + " people",
                [n for n in nouns if inventory.NOUN_KINDS[n] in ("pm", "pf")] or nouns,
            ),
            self._table(name + " names", self._own_order(name, list(inventory.GENDERS)), 0.9, 1.6),
            self._table(name + " places", self._own_order(name, inventory.PLACES), 0.9, 1.6),
            self._table(name + " organisations", organisations) if organisations else None,
        )

    def _frame(self, topic: str, verb: str, line: str) -> Frame:
        arguments, _, obliques = line.partition("|")
        subjects, _, objects = arguments.partition(">")
        where = f"{topic} {verb}"
        adverbs = inventory.FREQUENCY_ADVERBS + inventory.MANNER_ADVERBS
        return Frame(
            verb,
            self._table(where + " subjects", subjects.split()),
            self._table(where + " objects", objects.split()) if objects.strip() else None,
            tuple(
                (part.split()[0], self._table(where + part, part.split()[1:]))
                for part in obliques.split(",")
                if part.strip()
            ),
            self._table(where + " adverbs", self._own_order(where, adverbs), 1.0, 2.0),
        )

    def topic(self, uniform: float) -> Topic:
        """The topic of a document."""
        return self.topics[min(bisect(self._cumulative, uniform), len(self.topics) - 1)]

    def meaning(self, topic: Topic, uniform: Uniform) -> Meaning:
        """One meaning about ``topic``; ``uniform`` returns independent numbers in [0, 1)."""
        return _Draw(self, topic, uniform).meaning()

    def clause(self, topic: Topic, uniform: Uniform) -> Clause:
        """One clause about ``topic``."""
        return _Draw(self, topic, uniform).clause(uniform() < self.domain.past)

    def arguments(self, topic: Topic, verb: str, role: str) -> Table | None:
        """The subjects or objects (``role``) that ``verb`` has in ``topic``, or None."""
        for frame in topic.frames:
            if frame.verb == verb:
                return frame.subjects if role == "subject" else frame.objects
        return None


class _Draw:
    """One meaning in the making."""

    def __init__(self, sampler: Sampler, topic: Topic, uniform: Uniform):
        self.sampler, self.topic, self.uniform = sampler, topic, uniform
        self.domain = sampler.domain
        self.next_id = 0

    def id(self) -> int:
        self.next_id += STRIDE
        return self.next_id

    def meaning(self) -> Meaning:
        u = self.uniform
        past = u() < self.domain.past + trait(self.topic.name + " past", -0.3, 0.3)
        if u() < 0.07:
            return Meaning(self.report(past))
        main = self.clause(past)
        if u() >= self.domain.second + trait(self.topic.name + " second", -0.08, 0.08):
            return Meaning(main)
        link = self.sampler._links.pick(u())
        coordinated = link in ("and", "but")
        second = self.clause(past, main.subject if u() < 0.4 else None)
        if not coordinated:
            second.fronted = main.fronted = False
        return Meaning(main, link, second, not coordinated and u() < 0.3, coordinated)

    def report(self, past: bool) -> Clause:
        u = self.uniform
        subject = self.phrase(self.topic.people.pick(u()), name=0.3)
        inner = self.clause(u() < 0.5)
        inner.fronted = False
        mood = "past" if past else "present"
        verb = self.sampler._reporting
        return Clause(self.id(), subject, verb.pick(u()), mood=mood, reported=inner)

    def clause(self, past: bool, known: NounPhrase | None = None) -> Clause:
        u = self.uniform
        topic = self.topic
        if u() < 0.12:
            key = topic.nouns.pick(u())
            subject = self.pronoun(known) if known else self.phrase(key, name=0.05, plain=True)
            source = known.keys[0] if known and known.keys[0] in inventory.NOUN_ADJECTIVES else key
            predicate = self.adjective(source)
            clause = Clause(self.id(), subject, predicate=predicate)
            clause.mood = "past" if past else "present"
            clause.degree = "" if u() < 0.6 else ("very" if u() < 0.7 else "too")
            clause.negated = u() < 0.1
            return clause
        frame = topic.frames[int(topic.frame.pick(u()))]
        subject = self.pronoun(known) if known and u() < 0.7 else self.subject(frame)
        clause = Clause(self.id(), subject, frame.verb)
        if frame.objects is not None:
            key = self.argument(frame.objects, self.topic.nouns, 0.04)
            if key not in subject.keys:
                clause.object = self.phrase(key, name=0.04)
            else:
                clause.object = self.phrase(frame.objects.pick(u()), name=0.5)
        if frame.obliques and u() < trait(topic.name + frame.verb + " place", 0.35, 0.85):
            place = int(u() ** 1.7 * len(frame.obliques))
            clause.obliques.append(self.oblique(*frame.obliques[place]))
        elif u() < 0.08:
            clause.obliques.append(Oblique("in", self.name("place", topic.places.pick(u()))))
        if u() < self.domain.adverb * trait(frame.verb + " adverb", 0.3, 1.7):
            clause.adverb = frame.adverbs.pick(u())
        clause.mood = "past" if past else "present"
        if not past and u() < 0.25:
            clause.mood = ("will", "can", "must")[int(u() ** 1.5 * 3)]
        clause.negated = u() < 0.12 and clause.adverb not in inventory.FREQUENCY_ADVERBS
        if u() < self.domain.time:
            self.time(clause)
        return clause

    def subject(self, frame: Frame) -> NounPhrase:
        u = self.uniform
        if self.topic.organisations is not None and u() < 0.07:
            return self.name("organisation", self.topic.organisations.pick(u()))
        subject = self.phrase(self.argument(frame.subjects, self.topic.people, 0.05), name=0.22)
        if u() < 0.05:
            other = frame.subjects.pick(u())
            if other not in subject.keys:
                subject.also = self.phrase(other, name=0.1, plain=True)
        return subject

    def argument(self, table: Table, others: Table, drift: float) -> str:
        """Usually one of a verb's own arguments, sometimes any other noun of the topic."""
        u = self.uniform
        return others.pick(u()) if u() < drift else table.pick(u())

    def adjective(self, noun: str) -> str:
        return self.sampler._adjectives[noun].pick(self.uniform())

    def pronoun(self, antecedent: NounPhrase) -> NounPhrase:
        if antecedent.agrees_plural:
            key = "they"
        elif antecedent.kind == "person":
            key = "she" if inventory.GENDERS[antecedent.keys[0]] == "f" else "he"
        else:
            kind = inventory.NOUN_KINDS.get(antecedent.keys[0], "-")
            key = {"pf": "she", "pm": "he"}.get(kind, "it")
        return NounPhrase(
            self.id(), "pronoun", (key,), antecedent.agrees_plural, antecedent=antecedent
        )

    def name(self, kind: str, key: str) -> NounPhrase:
        keys = (key,)
        if kind == "person" and self.uniform() < 0.3:
            keys = (key, self.sampler._surnames.pick(self.uniform()))
        return NounPhrase(self.id(), kind, keys)

    def oblique(self, preposition: str, table: Table) -> Oblique:
        u = self.uniform
        if preposition in ("to", "in") and u() < 0.06:
            return Oblique(preposition, self.name("place", self.topic.places.pick(u())))
        return Oblique(preposition, self.phrase(table.pick(u())))

    def phrase(self, noun: str, name: float = 0.0, plain: bool = False) -> NounPhrase:
        """A phrase around ``noun`` or, for a person, possibly a name instead (by ``name``)."""
        u = self.uniform
        kind = inventory.NOUN_KINDS[noun]
        if kind in ("pm", "pf") and u() < name:
            return self.name("person", self.topic.persons.pick(u()))
        phrase = NounPhrase(self.id(), "noun", (noun,))
        if kind == "u":
            phrase.determiner = "definite" if u() < 0.6 else "bare"
        elif u() < trait(noun + " plural", 0.03, 0.5):
            phrase.plural = True
            which = u()
            if which < 0.55:
                phrase.determiner = "definite"
            elif which < 0.7:
                phrase.determiner, phrase.count = "count", self.sampler._counts.pick(u())
            elif which < 0.78:
                phrase.determiner = "many"
        else:
            definite = trait(noun + " definite", 0.4, 0.9)
            which = u()
            if which < definite:
                phrase.determiner = "definite"
            elif which < definite + 0.7 * (1 - definite):
                phrase.determiner = "indefinite"
            elif which < definite + 0.85 * (1 - definite):
                phrase.determiner = "this"
            elif u() < 0.5:
                phrase.determiner = "my" if u() < 0.6 else "our"
            else:
                phrase.determiner = "owner"
                phrase.owner = NounPhrase(self.id(), "person", (self.topic.persons.pick(u()),))
        if not plain and u() < trait(noun + " modified", 0.1, 0.55):
            phrase.adjectives = (self.adjective(noun),)
        if kind in ("pm", "pf") and not plain and u() < 0.04:
            phrase.origin = Oblique("from", self.name("place", self.topic.places.pick(u())))
        return phrase

    def time(self, clause: Clause) -> None:
        u = self.uniform
        which = u()
        if which < 0.55:
            word = self.sampler._times.pick(u())
            if word == "yesterday":
                clause.mood = "past"
            elif word == "tomorrow":
                clause.mood = "will"
            elif clause.mood == "past":
                word = "yesterday"
            clause.time = word
        elif which < 0.9 or clause.mood != "past":
            season = NounPhrase(self.id(), "noun", (self.sampler._seasons.pick(u()),))
            season.determiner = "definite"
            clause.time = Oblique("in", season)
        else:
            number, year = self.id(), inventory.YEARS[int(u() ** 2 * len(inventory.YEARS))]
            clause.time = Oblique("in", NounPhrase(number, "year", (str(year),)))
        clause.fronted = u() < 0.4
