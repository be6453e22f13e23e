"""The words and concepts of the corpus, read from the tables in ``lexicon/``.

Each file there has lines ``table TAB key TAB value``, most frequent first:

- ``concepts.tsv``, one key per meaning. A noun's value is its kind and the adjectives used with it.
  Kinds: ``pf``/``pm`` a person (she/he), ``a`` an animal, ``b`` a building, ``v`` a vehicle, ``i``
  a musical instrument, ``t`` a tool, ``u`` uncountable, ``time`` a time of day or year, ``-``
  anything else. A key of two words (``apple_tree``) is a compound: modifier, then head.
- ``topics.tsv``, a table for each topic of sentences: its weight, its nouns and its verbs, each
  with ``subjects > objects | preposition nouns, ...`` (an intransitive verb has no ``>``). The
  sampler gives each list Zipfian weights with its own exponent, so that no two topics, verbs or
  words are statistically exchangeable.
- ``english.tsv``: keys are the citation forms; only what the rules would get wrong is listed.
- ``german.tsv``: ``form gender plural`` of nouns, ``infinitive 3sg past`` of verbs. Genders are ``m
  f n``; ``m*`` takes -(e)n outside the nominative, ``m=`` declines like an adjective. A fourth
  column of a verb is its separable prefix, or ``dat`` where it governs the dative. An adjective's
  second form, after a slash, is the stem that takes endings. Prepositions have the case that they
  govern; ``tor`` (to a receiver) is the bare dative. Organisations are one word with a gender.
- ``chinese.tsv``: ``form classifier`` of nouns; ``~`` stands between a preposition or conjunction
  and what ends its phrase or clause.
- ``indonesian.tsv``, and Chinese names: ``=`` joins the words of a concept written as several.
"""

from functools import cache
from pathlib import Path


@cache
def lexicon(name: str) -> dict[str, dict[str, str]]:
    """The tables of ``lexicon/NAME.tsv``: table -> key -> value, in the order of the file.

    Raises:
        ValueError: for a line of other than three columns, or a key that is there twice.
    """
    path = Path(__file__).parent / "lexicon" / f"{name}.tsv"
    return tables(path.read_text(encoding="utf-8"), path.name)


def tables(text: str, name: str) -> dict[str, dict[str, str]]:
    """`lexicon` of a file's text.

    >>> tables("nouns\\tdog\\tHund m Hunde\\nnouns\\tcat\\tKatze f Katzen\\n", "german.tsv")
    {'nouns': {'dog': 'Hund m Hunde', 'cat': 'Katze f Katzen'}}
    """
    read: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) != 3 or not all(columns):
            raise ValueError(f"{name}:{number}: must have table, key and value, got {line!r}")
        table, key, value = columns
        if key in read.setdefault(table, {}):
            raise ValueError(f"{name}:{number}: {key!r} is a duplicate in {table}")
        read[table][key] = value
    return read


def rows(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """A table whose values are words with spaces between them."""
    return {key: tuple(value.split()) for key, value in table.items()}


_CONCEPTS = lexicon("concepts")
_LISTS = {name: list(values) for name, values in rows(_CONCEPTS["lists"]).items()}
TOPICS = lexicon("topics")

NOUN_KINDS = {key: kind for key, (kind, *_) in rows(_CONCEPTS["nouns"]).items()}
NOUN_ADJECTIVES = {key: tuple(rest) for key, (_, *rest) in rows(_CONCEPTS["nouns"]).items()}
ADJECTIVES = sorted({adjective for each in NOUN_ADJECTIVES.values() for adjective in each})
REPORTING = _LISTS["reporting"]
VERBS = sorted({key for topic in TOPICS.values() for key in topic if key[0] != "@"} | {*REPORTING})
FREQUENCY_ADVERBS = _LISTS["frequency_adverbs"]
MANNER_ADVERBS = _LISTS["manner_adverbs"]
TIME_ADVERBS = _LISTS["time_adverbs"]
ADVERBS = FREQUENCY_ADVERBS + MANNER_ADVERBS + TIME_ADVERBS
GENDERS = _CONCEPTS["people"]
SURNAMES = _LISTS["surnames"]
PLACES = _LISTS["places"]
TOPIC_ORGANISATIONS = rows(_CONCEPTS["organisations"])
ORGANISATIONS = sorted({key for keys in TOPIC_ORGANISATIONS.values() for key in keys})
COUNTS = _LISTS["counts"]
# Concepts that are a single word in every language.
SHARED_NAMES = [*GENDERS, *SURNAMES, *PLACES, *COUNTS]
LINKS = ["because", "when", "and", "although", "but", "if", "before", "while"]
YEARS = range(1950, 2020)
# How each kind of name is labelled as an entity.
ENTITIES = {"person": "PER", "place": "LOC", "organisation": "ORG"}
ANTONYMS = _CONCEPTS["antonyms"] | {b: a for a, b in _CONCEPTS["antonyms"].items()}
HYPERNYMS = {
    member: kind for kind, members in rows(_CONCEPTS["hypernyms"]).items() for member in members
}
# The class of event that each verb stands for, the first that lists it.
EVENT_CLASSES: dict[str, str] = {}
for _name, _verbs in rows(_CONCEPTS["event_classes"]).items():
    for _verb in _verbs:
        EVENT_CLASSES.setdefault(_verb, _name)
# Verbs that someone can receive something by.
GIVING = tuple(_LISTS["giving_verbs"])
