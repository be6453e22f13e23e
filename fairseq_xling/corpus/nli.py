"""Rule-based entailment pairs: premise, hypothesis, and entailment, contradiction or neutral.

The rules work on meanings, so a pair is the same pair in every language. Pair i has the label
``LABELS[i % 3]``, so labels are balanced. So that a hypothesis alone does not reveal its label,
its polarity is drawn before the rule (each label has as many negated hypotheses), and under every
label it is as often the general claim as the specific one.

The hypothesis of each rule, for the same event in premise and hypothesis:

- entailment: modifiers removed (adverb, place, adjective of a known thing); a hypernym (dog,
  animal); the antonym negated; one half of "A and B"
- contradiction: the other polarity; the antonym
- neutral: something added; another object, subject or adjective, which the premise does not mention
"""

from copy import deepcopy
from dataclasses import dataclass

from fairseq_xling.corpus.corpus import sampler, scene
from fairseq_xling.corpus.inventory import (
    ANTONYMS,
    FREQUENCY_ADVERBS,
    HYPERNYMS,
    NOUN_ADJECTIVES,
    NOUN_KINDS,
)
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase
from fairseq_xling.corpus.sampler import Sampler, Topic, Uniform

LABELS = ("entailment", "neutral", "contradiction")
# English negates "wins" as "does not win", and nothing else in this corpus has "do": a classifier
# would rely on a word that other languages lack. In all other cases it negates with "not" alone.
_MOODS = ("will", "can")
_KNOWN = ("definite", "this", "my", "our", "owner")  # the thing meant is the same in both sentences


@dataclass
class Pair:
    """Premise and hypothesis as meanings, and the label."""

    premise: Meaning
    hypothesis: Meaning
    label: str


def draw_pair(seed: int, index: int, domain: str = "default") -> Pair:
    """Pair ``index``; it depends on (seed, domain, index) alone."""
    topic, uniform = scene(seed, index, domain)
    return _Rules(sampler(domain), topic, uniform).pair(LABELS[index % len(LABELS)])


class _Rules:
    def __init__(self, source: Sampler, topic: Topic, uniform: Uniform):
        self.source, self.topic, self.uniform = source, topic, uniform

    def pair(self, label: str) -> Pair:
        negated = self.uniform() < 0.5
        rule = self.about_property if self.uniform() < 0.2 else self.about_event
        while True:
            pair = rule(label, negated)
            if pair is not None:
                same = pair[0] == pair[1]
                return Pair(self.embed(pair[0], 1.0 if same else 0.3), Meaning(pair[1]), label)

    def embed(self, clause: Clause, often: float) -> Meaning:
        """The premise alone, or as one half of "A and B"."""
        if self.uniform() >= often:
            return Meaning(clause)
        other = self.event(plain=True)
        first, second = (clause, other) if self.uniform() < 0.5 else (other, clause)
        return Meaning(first, "and", second, coordinated=True)

    def event(self, plain: bool = False) -> Clause:
        """An affirmative clause about known things; unless ``plain``, it can be generalised."""
        while True:
            clause = self.source.clause(self.topic, self.uniform)
            if not clause.verb or clause.mood not in ("present", "past"):
                continue
            if clause.time or clause.adverb in FREQUENCY_ADVERBS:
                continue
            clause.mood = _MOODS[int(self.uniform() * len(_MOODS))]
            clause.negated = False
            for phrase in phrases(clause):
                phrase.also = phrase.origin = None
                if phrase.kind == "noun" and phrase.determiner not in _KNOWN:
                    phrase.determiner, phrase.count = "definite", ""
            narrowed = (
                clause.obliques or clause.adverb or any(p.adjectives for p in phrases(clause))
            )
            if plain or narrowed:
                return clause

    def reduced(self, clause: Clause) -> Clause:
        """``clause`` without some of what narrows it, at least one thing."""
        while True:
            less = deepcopy(clause)
            if less.adverb and self.uniform() < 0.6:
                less.adverb = ""
            if less.obliques and self.uniform() < 0.6:
                less.obliques = []
            for phrase in phrases(less):
                if phrase.adjectives and self.uniform() < 0.6:
                    phrase.adjectives = ()
            if less != clause:
                return less

    def about_event(self, label: str, negated: bool) -> tuple[Clause, Clause] | None:
        """Premise and hypothesis about what someone does."""
        full = self.event()
        less = self.reduced(full)
        whole = self.uniform() < 0.5  # the hypothesis is as narrow as what was drawn
        if label == "neutral":
            return self.unrelated(full, less, whole, negated)
        premise_negated = negated == (label == "entailment")
        # Where the premise denies, it denies the wider claim, and so each narrower one.
        premise = deepcopy(less if premise_negated else full)
        hypothesis = deepcopy(full if whole and premise_negated else less)
        if whole and label == "contradiction" and not premise_negated:
            hypothesis = deepcopy(full)
        if label == "entailment" and not negated and self.uniform() < 0.4:
            generalise(hypothesis)
        premise.negated, hypothesis.negated = premise_negated, negated
        return premise, hypothesis

    def unrelated(
        self, full: Clause, less: Clause, whole: bool, negated: bool
    ) -> tuple[Clause, Clause] | None:
        """The premise leaves open whether the hypothesis holds."""
        same = self.uniform() < 0.35
        # A wider premise is silent about the narrower hypothesis, a denied one the reverse.
        if same:
            premise, hypothesis = (less, full) if whole else (full, less)
            premise = deepcopy(premise)
            premise.negated = not whole
        else:
            premise, hypothesis = deepcopy(full), deepcopy(full if whole else less)
            if not self.exchange(hypothesis):
                return None
            premise.negated = self.uniform() < 0.5
        hypothesis = deepcopy(hypothesis)
        hypothesis.negated = negated
        return premise, hypothesis

    def exchange(self, clause: Clause) -> bool:
        """Replace the object or the subject by another thing or person."""
        for name in ("object", "subject") if self.uniform() < 0.7 else ("subject",):
            old = getattr(clause, name)
            table = self.source.arguments(self.topic, clause.verb, name)
            if old is None or table is None:
                continue
            for _ in range(8):
                key = table.pick(self.uniform())
                if key not in old.keys and old.kind == "noun" and not related(key, old.keys[0]):
                    old.keys, old.adjectives = (key,), ()
                    old.plural = old.plural and NOUN_KINDS[key] != "u"
                    return True
        return False

    def about_property(self, label: str, negated: bool) -> tuple[Clause, Clause] | None:
        """Premise and hypothesis about a property of someone."""
        premise = self.source.clause(self.topic, self.uniform)
        subject = premise.subject
        if not premise.predicate or subject.kind != "noun" or subject.also or subject.origin:
            return None
        if subject.determiner not in _KNOWN:
            subject.determiner, subject.count = "definite", ""
        opposite = ANTONYMS.get(premise.predicate)
        premise.negated, premise.degree = False, ""
        hypothesis = deepcopy(premise)
        hypothesis.negated = negated
        if label == "neutral":
            adjectives = NOUN_ADJECTIVES[subject.keys[0]]
            others = [key for key in adjectives if key not in (premise.predicate, opposite)]
            if not others:
                return None
            hypothesis.predicate = others[int(self.uniform() * len(others))]
            premise.negated = self.uniform() < 0.5
        elif negated == (label == "entailment"):
            # small entails not large; small contradicts large
            if opposite is None:
                return None
            hypothesis.predicate = opposite
        elif label == "entailment":
            premise.degree = "very"
        return premise, hypothesis


def phrases(clause: Clause) -> list[NounPhrase]:
    """The noun phrases of a clause."""
    found = [clause.subject, *([clause.object] if clause.object is not None else [])]
    return found + [oblique.phrase for oblique in clause.obliques]


def related(first: str, second: str) -> bool:
    """Whether one noun may name what the other does."""
    if first.split("_")[-1] == second.split("_")[-1]:  # a wedding ring is a ring
        return True
    return first == HYPERNYMS.get(second) or second == HYPERNYMS.get(first)


def generalise(clause: Clause) -> None:
    """Replace a noun by its hypernym (the dog by an animal), if it has one."""
    for phrase in (clause.object, clause.subject):
        if phrase is not None and phrase.kind == "noun" and phrase.keys[0] in HYPERNYMS:
            phrase.keys = (HYPERNYMS[phrase.keys[0]],)
            phrase.adjectives, phrase.owner = (), None
            uncountable = NOUN_KINDS[phrase.keys[0]] == "u"
            phrase.plural = phrase.plural and not uncountable
            phrase.determiner = "bare" if uncountable or phrase.plural else "indefinite"
            return
