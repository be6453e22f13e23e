"""The meaning and the English wording of each sentence: it depends on seed and number alone."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.corpus.meaning import Meaning
from fairseq_xling.corpus.realiser import LANGUAGES, Language, Sentence
from fairseq_xling.corpus.sampler import Sampler, Topic, Uniform

DOCUMENT = 8  # sentences in a row that share a topic
SHORTEST, LONGEST = 5, 20  # words of the English sentence
_PIECE = 64  # uniform numbers drawn at a time

sampler = lru_cache(maxsize=None)(Sampler)


class _Uniform:
    """Independent uniform numbers that depend on ``key`` and ``counter`` only."""

    __slots__ = ("_generator", "_numbers")

    def __init__(self, seed: int, stream: int, index: int):
        bits = np.random.Philox(key=(seed, stream), counter=(0, 0, index, 0))
        self._generator = np.random.Generator(bits)
        self._numbers: list[float] = []

    def __call__(self) -> float:
        if not self._numbers:
            self._numbers = self._generator.random(_PIECE).tolist()
        return self._numbers.pop()


@lru_cache(maxsize=64)
def _document_topic(seed: int, document: int) -> float:
    return _Uniform(seed, 1, document)()


def scene(seed: int, index: int, domain: str) -> tuple[Topic, Uniform]:
    """Topic and random numbers of sentence ``index``."""
    topic = sampler(domain).topic(_document_topic(seed, index // DOCUMENT))
    return topic, _Uniform(seed, 0, index)


def draw(seed: int, index: int, domain: str = "default") -> tuple[str, Meaning, Sentence]:
    """Topic, meaning and English wording of sentence ``index``."""
    source, english = sampler(domain), LANGUAGES["en"]
    topic, uniform = scene(seed, index, domain)
    while True:
        meaning = source.meaning(topic, uniform)
        sentence = english.sentence(meaning)
        if SHORTEST <= len(sentence.tokens) <= LONGEST:
            return topic.name, meaning, sentence


def resolve(languages: Sequence[str]) -> dict[str, Language]:
    """The languages by their codes."""
    for code in languages:
        if list(languages).count(code) > 1:
            raise UserError(f"`--languages` names {code!r} twice in {','.join(languages)!r}")
    with about("`--languages`"):
        return {code: LANGUAGES[code] for code in languages}
