"""Folders of sequences with known content, and pairs whose label is a matter of order.

The rule: of a premise of some different words, a hypothesis names two; it follows if they stand
there in the same order. Which words they are tells nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.papers.clcr.sequences import Sequences, write_sequences

WORDS, FILLERS, WIDTH = 5, 3, 8
FOLLOWS, DENIED = "entailment", "contradiction"


def write_folder(
    path: Path,
    sentences: Sequence[np.ndarray],
    lang: str = "en",
    spans: Sequence[np.ndarray] | None = None,
    lengths: Sequence[int] | None = None,
) -> Sequences:
    """Sentences (K, D) as a finished folder; without ``spans``, a row for each subword."""
    counts = [len(one) for one in sentences]
    if spans is None:
        spans = [np.stack([np.arange(n), np.arange(n) + 1], 1) for n in counts]
    settings, width = {"lang": lang, "dtype": "float32"}, sentences[0].shape[1]
    with write_sequences(path, settings, width, {}) as writer:
        writer.append(np.concatenate(sentences), counts, np.concatenate(spans), lengths or counts)
    return Sequences(path)


class OrderTask:
    """Pairs of the rule, as (premise, hypothesis) of word numbers, and their sequences of vectors.

    A word is a vector that both languages share up to noise; each language has fillers of its own,
    words that mean nothing.
    """

    def __init__(self, seed: int = 0):
        self.generator = np.random.default_rng(seed)
        self.words = self.generator.normal(size=(WORDS, WIDTH))
        self.fillers = {lang: self.generator.normal(size=(FILLERS, WIDTH)) for lang in ("en", "xx")}

    def draw(self, count: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[str]]:
        """Pairs and their labels, about as many of each."""
        pairs, labels = [], []
        for _ in range(count):
            premise = self.generator.permutation(WORDS)[:2]
            named = self.generator.permutation(2)
            pairs.append((premise, premise[named]))
            labels.append(FOLLOWS if named[0] < named[1] else DENIED)
        return pairs, labels

    def sequence(
        self, words: np.ndarray, lang: str, shuffled: float = 0.0, fillers: int = 0
    ) -> np.ndarray:
        """(K, D) of a sentence; with this probability in any order, with so many fillers."""
        if self.generator.random() < shuffled:
            words = self.generator.permutation(words)
        vectors = self.words[words]
        places = self.generator.integers(0, len(words) + 1, fillers)
        extra = self.fillers[lang][self.generator.integers(0, FILLERS, fillers)]
        found = np.insert(vectors, places, extra, axis=0)
        return found + 0.05 * self.generator.normal(size=found.shape)
