"""Word retrieval: is a word's nearest neighbour in the other language its translation?

Liu et al. 2020, "What makes multilingual BERT multilingual?", section 3.1.1 (MRR over the targets
of a dictionary; a contextual word is the mean over its contexts), and Conneau et al. 2020,
"Emerging Cross-lingual Structure", section 5.1.1 (a word is the mean of its subwords, a word type
the mean over its occurrences).

Symbols: ``L`` layers, ``B`` batch, ``T`` length, ``D`` width, ``K`` word occurrences in a batch,
``N`` source words, ``M`` target words, ``P`` dictionary pairs.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.ranks import ranks


def span_means(states: Tensor, spans: Sequence[tuple[int, int, int]]) -> Tensor:
    """Mean state over the subwords of each word occurrence.

    Args:
        states: (L+1, B, T, D).
        spans: K triples ``(b, start, stop)``: the word is ``states[:, b, start:stop]``.

    Returns:
        (L+1, K, D).

    >>> span_means(torch.tensor([[[[1.0], [3.0], [8.0]]]]), [(0, 0, 2), (0, 2, 3)]).tolist()
    [[[2.0], [8.0]]]
    """
    layers, _, length, width = states.shape
    owner = [k for k, (_, start, stop) in enumerate(spans) for _ in range(start, stop)]
    place = [b * length + t for b, start, stop in spans for t in range(start, stop)]
    sizes = torch.tensor([stop - start for _, start, stop in spans])
    sums = states.new_zeros(layers, len(spans), width)
    sums.index_add_(1, torch.tensor(owner), states.flatten(1, 2)[:, torch.tensor(place)])
    return sums / sizes[None, :, None]


class TypeMeans:
    """Running mean of each word type over its occurrences; memory does not grow with the text.

    >>> means = TypeMeans(2, layers=1, width=1)
    >>> means.add(torch.tensor([0, 0]), torch.tensor([[[1.0], [5.0]]]))
    >>> means.means().flatten().tolist(), means.counts.tolist()
    ([3.0, 0.0], [2, 0])
    """

    def __init__(self, types: int, layers: int, width: int):
        self.counts = torch.zeros(types, dtype=torch.int64)
        self._sums = torch.zeros(layers, types, width, dtype=torch.float64)

    def add(self, types: Tensor, vectors: Tensor) -> None:
        """Add occurrences of ``types`` (K,) with vectors (L+1, K, D)."""
        self._sums.index_add_(1, types, vectors.double())
        self.counts += torch.bincount(types, minlength=len(self.counts))

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums and counts, for `load`."""
        return self._sums.numpy(), self.counts.numpy()

    def load(self, sums: np.ndarray, counts: np.ndarray) -> None:
        """Resume from a `state`."""
        self._sums, self.counts = torch.from_numpy(sums), torch.from_numpy(counts)

    def means(self) -> Tensor:
        """(L+1, types, D) float32; zero for a type that never occurred."""
        return (self._sums / self.counts.clamp(min=1)[None, :, None]).float()


def word_scores(source: Tensor, target: Tensor, pairs: Tensor) -> tuple[float, float]:
    """MRR and P@1 of the dictionary: ``MRR = (1/N) sum_i 1 / rank(i)`` among the ``M`` targets.

    A source word with several translations is scored by the best of them. Ties are wrong.
    Chance is ``H_M / M`` (about ``ln M / M``) and ``1 / M`` for one translation per word.

    Args:
        source: (N, D); target: (M, D); pairs: (P, 2) of (source row, target row).

    >>> eye = torch.eye(2)
    >>> word_scores(eye, eye, torch.tensor([[0, 0], [1, 1]]))
    (1.0, 1.0)
    >>> word_scores(eye, eye, torch.tensor([[0, 1], [1, 0]]))
    (0.5, 0.0)
    """
    rank = ranks(source, target, pairs).double()
    return float((1 / rank).mean()), float((rank == 1).double().mean())


def chance_mrr(targets: int) -> float:
    """Expected MRR of a random order of ``targets`` candidates: ``H_n / n``.

    >>> chance_mrr(2)
    0.75
    """
    return sum(1 / rank for rank in range(1, targets + 1)) / targets


def begins_word(piece: str) -> bool:
    """Whether a subword begins a new word: it has the word mark, or is punctuation.

    >>> [begins_word(piece) for piece in ("▁house", "s", ".", "▁")]
    [True, False, True, True]
    """
    return piece.startswith("▁") or not any(letter.isalnum() for letter in piece)


def find_words(
    tokens: Sequence[int], starts: Sequence[bool], vocabulary: dict[tuple[int, ...], int]
) -> list[tuple[int, int, int]]:
    """Known words in a sentence: triples ``(type, start, stop)``, longest match first.

    A match begins where a word begins and ends where the next one begins, so that no part of a
    longer word counts as an occurrence.

    Args:
        tokens: the sentence's subword ids, T of them.
        starts: T flags, True where a word begins.
        vocabulary: subword ids of a word -> its type.

    >>> find_words([5, 6, 7], [True, False, True], {(5,): 0, (5, 6): 1, (7,): 2})
    [(1, 0, 2), (2, 2, 3)]
    """
    longest = max(map(len, vocabulary), default=0)
    cuts = [t for t, begins in enumerate(starts) if begins] + [len(tokens)]
    found, done = [], 0
    for n, start in enumerate(cuts[:-1]):
        if start < done:
            continue
        for stop in reversed(
            [cut for cut in cuts[n + 1 : n + 1 + longest] if cut - start <= longest]
        ):
            word = vocabulary.get(tuple(tokens[start:stop]))
            if word is not None:
                found.append((word, start, stop))
                done = stop
                break
    return found
