"""Encode each word once: the pieces of a line are those of its words, one after the other.

Half of running text is some hundred words, so most of it need not be cut into pieces again.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import chain, repeat

import numpy as np

_BUDGET = 3 << 18  # of characters, and as many as a short word has for each word: some 8 MB
_OVERHEAD = 8
_LINES = 512  # whose words are in memory at a time


class WordMemo:
    """Words and their pieces, up to a bound; several threads may use one.

    Args:
        encode: from words to the ids of the pieces of each.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]):
        self._encode = encode
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        # Ids of all words back to back, and how many each word has.
        self._table = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        self._left = _BUDGET

    def encode(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all ``lines``, whose words are separated by spaces, back to back (N,) int32, and
        the number of each line's (n,) int64."""
        parts = [self._some(lines[k : k + _LINES]) for k in range(0, len(lines), _LINES)]
        ids, sizes = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(sizes)

    def _some(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        words = " ".join(lines).split(" ")
        per_line = np.fromiter((line.count(" ") + 1 for line in lines), np.int64, len(lines))
        # The table after the numbers: another thread adds to it first.
        numbers = np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))
        known = ids, sizes = self._table
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            missing = [words[k] for k in unknown.tolist()]
            added = {word: k for k, word in enumerate(dict.fromkeys(missing), len(sizes))}
            numbers[unknown] = np.fromiter(map(added.get, missing), np.int64, len(missing))
            found = self._encode(list(added))
            more = np.fromiter(map(len, found), np.int64, len(found))
            new = np.fromiter(chain.from_iterable(found), np.int32, int(more.sum()))
            ids, sizes = np.concatenate([ids, new]), np.concatenate([sizes, more])
            self._keep(added, known, (ids, sizes))
        starts, lengths = (np.cumsum(sizes) - sizes)[numbers], sizes[numbers]
        ends = np.cumsum(lengths)
        places = np.arange(len(lengths) and ends[-1]) + np.repeat(starts - ends + lengths, lengths)
        return ids[places], np.add.reduceat(lengths, np.cumsum(per_line) - per_line)

    def _keep(
        self,
        added: dict[str, int],
        known: tuple[np.ndarray, np.ndarray],
        table: tuple[np.ndarray, np.ndarray],
    ) -> None:
        cost = sum(map(len, added)) + _OVERHEAD * len(added)
        with self._lock:
            # If another thread has added words meanwhile, these have other numbers: next time.
            if self._table is known and cost <= self._left:
                self._table = table
                self._numbers.update(added)
                self._left -= cost
