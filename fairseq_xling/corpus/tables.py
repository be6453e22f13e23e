"""Skewed frequencies: tables to draw from, the parts of a topic, and the two domains."""

import zlib
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

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
