"""The concepts by kind, read from the tables of ``concepts`` and ``topics``."""

import re

from fairseq_xling.corpus import concepts
from fairseq_xling.corpus.lexicon.reader import entries, items
from fairseq_xling.corpus.topics import TOPICS

NOUN_KINDS: dict[str, str] = {}
NOUN_ADJECTIVES: dict[str, tuple[str, ...]] = {}
for _line in items(concepts.NOUNS):
    _head, _, _adjectives = _line.partition(":")
    _key, _kind = _head.split()
    NOUN_KINDS[_key], NOUN_ADJECTIVES[_key] = _kind, tuple(_adjectives.split())

ADJECTIVES = sorted({adjective for each in NOUN_ADJECTIVES.values() for adjective in each})
REPORTING = concepts.REPORTING.split()
VERBS = sorted({*re.findall(r"^(\w+):", TOPICS, re.MULTILINE), *REPORTING})
FREQUENCY_ADVERBS = concepts.FREQUENCY_ADVERBS.split()
MANNER_ADVERBS = concepts.MANNER_ADVERBS.split()
TIME_ADVERBS = concepts.TIME_ADVERBS.split()
ADVERBS = FREQUENCY_ADVERBS + MANNER_ADVERBS + TIME_ADVERBS
GENDERS = dict(item.split() for item in items(concepts.PEOPLE))
SURNAMES = concepts.SURNAMES.split()
PLACES = concepts.PLACES.split()
TOPIC_ORGANISATIONS = {
    topic: keys.split() for topic, keys in entries(concepts.ORGANISATIONS).items()
}
ORGANISATIONS = sorted({key for keys in TOPIC_ORGANISATIONS.values() for key in keys})
COUNTS = concepts.COUNTS.split()
LINKS = ["because", "when", "and", "although", "but", "if", "before", "while"]
YEARS = range(1950, 2020)
# How each kind of name is labelled as an entity.
ENTITIES = {"person": "PER", "place": "LOC", "organisation": "ORG"}
