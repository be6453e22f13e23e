"""A vector per word type: the mean over its occurrences, each the mean of its subwords.

Conneau et al. 2020, "Emerging Cross-lingual Structure", Section 5.1.1. Row n is line n of
``words.txt``; ``counts.npy`` has the occurrences. Words are those of a file, or the most frequent
ones of the text; those that the vocabulary cannot spell or that never occur are left out.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import option
from fairseq_xling.core.texts import blank_separated, read_lines, read_sentences
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.segment import words_of
from fairseq_xling.verbs.units import Work, units

if TYPE_CHECKING:
    from torch import Tensor

_SUMS = "sums.npz"
_LINES = 10_000  # segmented at a time
_KEEP_EVERY = 16  # blocks


@dataclasses.dataclass(frozen=True)
class Options:
    words: str | None = option(None, "words to write, the first column of each line", metavar=FILE)
    most: int = option(20_000, "without --words, the N most frequent words", least=1)


@units.register("types")
class Types:
    """See the module's docstring."""

    options = Options

    def __init__(self, work: Work, options: Options):
        from fairseq_xling.analysis.lexicon import spell, word_starts
        from fairseq_xling.analysis.words import TypeMeans

        self._work, self._wanted = work, options.words
        if options.words:
            words = words_of_file(options.words)
        else:
            counts, _ = count_words(work.text, work.encode)
            words = [word for word, _ in counts.most_common(options.most)]
        spelling = spell(words, work.encode)
        if not spelling:
            raise UserError(f"{options.words or work.text}: none of its words can be spelt")
        self._words = list(spelling)
        self._vocabulary = {ids: n for n, ids in enumerate(spelling.values())}
        self._starts = word_starts(work.data, work.encode, work.lang)
        self._means = TypeMeans(len(spelling), len(work.layers), work.width)
        self.done, self._blocks = 0, 0
        if (work.folder / _SUMS).is_file():
            with np.load(work.folder / _SUMS, allow_pickle=False) as kept:
                self._means.load(kept["sums"], kept["counts"])
                self.done = int(kept["done"])

    def block(self, lines: Sequence[str], sentences: Sequence[np.ndarray]) -> _Block:
        from fairseq_xling.analysis.words import find_words

        places = []
        for ids in sentences:
            inner = ids[:-1]
            places.append(
                find_words(inner.tolist(), self._starts[inner].tolist(), self._vocabulary)
            )
        return _Block(self, places)

    def add(self, places: list[list[tuple[int, int, int]]], states: Tensor, words: Tensor) -> None:
        """Add the words of some sentences."""
        from fairseq_xling.analysis.lexicon import add_occurrences

        add_occurrences(self._means, places, states, words)

    def keep(self, lines: int) -> None:
        """Record that ``lines`` more are processed."""
        self.done += lines
        self._blocks += 1
        if self._blocks % _KEEP_EVERY == 0:
            with atomic_write(self._work.folder / _SUMS) as file:
                sums, counts = self._means.state()
                np.savez(file, sums=sums, counts=counts, done=self.done)

    def finish(self) -> dict[str, Any]:
        found = self._means.counts > 0
        if not found.any():
            raise UserError(
                f"{self._work.text}: has none of the {len(self._words):,} words"
                + (f" of {self._wanted}" if self._wanted else "")
            )
        rows = found.nonzero()[:, 0]
        means = self._means.means()[:, rows].numpy()
        for layer, vectors in zip(self._work.layers, means, strict=True):
            np.save(self._work.array(layer), vectors.astype(self._work.dtype))
        np.save(self._work.folder / "counts.npy", self._means.counts[rows].numpy())
        with atomic_write(self._work.folder / "words.txt", "w") as file:
            file.writelines(f"{self._words[n]}\n" for n in rows.tolist())
        (self._work.folder / _SUMS).unlink(missing_ok=True)
        return {
            "rows": len(rows),
            "row": "line n of words.txt; counts.npy its occurrences",
            "left out, as they never occur": int((~found).sum()),
        }


class _Block:
    def __init__(self, unit: Types, places: list[list[tuple[int, int, int]]]):
        self._unit, self._places = unit, places

    def add(self, indices: np.ndarray, states: Tensor, words: Tensor) -> None:
        self._unit.add([self._places[i] for i in indices], states, words)

    def close(self) -> None:
        self._unit.keep(len(self._places))


def words_of_file(path: str) -> list[str]:
    """The first column of a file's lines, each word once."""
    words = (blank_separated(line) for line in read_lines(path))
    found = list(dict.fromkeys(row[0] for row in words if row))
    if not found:
        raise UserError(f"{path}: contains no words")
    return found


def count_words(text: Path, encode: TextEncoder) -> tuple[Counter[str], int]:
    """How often each word occurs in the segmented text, and the number of its lines."""
    counts: Counter[str] = Counter()
    lines, total = read_sentences(text), 0
    while block := list(islice(lines, _LINES)):
        total += len(block)
        for line in encode.segment(block):
            counts.update(words_of(line))
    return counts, total
