"""From sentences to flat tensors: the words of a batch one after another, and candidates in them.

S sentences, R graphs of a batch, N words of all of them, C candidates, F learnt features, D width.
Nothing is padded: sentences of a batch differ in length, and words are what costs time. Where trees
are pruned, T words of the longest; ``heads`` are numbers of words, `ROOT` that of a root.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.papers.transfer.structures.features import Tables, Words
from fairseq_xling.papers.transfer.structures.sentence import Candidate, Sentence

ROOT = -1  # the head of a word that has none


class Neighbours(NamedTuple):
    """The words at one edge from each word, and the word itself, d_i in all."""

    words: Tensor  # (E,) int64, those of word 0, of word 1 and so on, by number
    starts: Tensor  # (N,) int64, where those of each word begin
    shares: Tensor  # (E,) 1 / d of the word whose neighbour it is
    own_shares: Tensor  # (E,) 1 / d of itself


def neighbours(heads: Tensor, dtype: torch.dtype = torch.float32) -> Neighbours:
    """The neighbours of each word, (N,); an edge goes both ways.

    >>> found = neighbours(torch.tensor([-1, 0, 1]))
    >>> found.words.tolist(), found.starts.tolist()
    ([0, 1, 0, 1, 2, 1, 2], [0, 2, 5])
    """
    every = torch.arange(len(heads), device=heads.device)
    below = (heads != ROOT).nonzero()[:, 0]
    above = heads[below]
    of, words = torch.cat([every, below, above]), torch.cat([every, above, below])
    # By number, so that the sums over them do not depend on the direction of an edge.
    order = (of * len(heads) + words).argsort()
    of, words = of[order], words[order]
    counts = of.bincount(minlength=len(heads))
    share = counts.to(dtype).reciprocal()
    return Neighbours(words, counts.cumsum(0) - counts, share[of], share[words])


def distances(heads: Tensor, mask: Tensor) -> Tensor:
    """(R, T, T) float32: edges between two words of one tree, infinite for padding.

    Args:
        heads: (R, T); mask: (R, T) bool, words that are not padding.

    By sets of ancestors: with A[i, k] = 1 if k is i or above i, two words have A_i A_k common ones,
    and their distance is |A_i| + |A_k| - 2 A_i A_k. The sets come from log2 T squarings.

    >>> distances(torch.tensor([[-1, 0, 1, -1]]), torch.arange(4)[None] < 3)[0, 0].tolist()
    [0.0, 1.0, 2.0, inf]
    """
    places = torch.arange(heads.shape[1], device=heads.device)
    parents = (heads[:, :, None] == places) & mask[:, :, None]
    above = (parents | torch.diag_embed(mask)).float()
    for _ in range(max(1, heads.shape[1] - 1).bit_length()):
        above = (above @ above).clamp_(max=1)
    common = above @ above.mT
    depth = above.sum(-1)
    found = depth[:, :, None] + depth[:, None, :] - 2 * common
    return found.masked_fill(~(mask[:, :, None] & mask[:, None, :]), torch.inf)


def near_path(heads: Tensor, mask: Tensor, a: Tensor, b: Tensor, most: int) -> Tensor:
    """(R, T) bool: words at most ``most`` edges away from the shortest path between two mentions,
    whose words are ``a`` and ``b``, (R, T) bool, at least one each.

    The path between mentions of several words is the shortest between a word of one and a word of
    the other (all such paths, if several are equally short). The mentions' own words are kept.
    """
    apart = distances(heads, mask)
    from_a = apart.masked_fill(~a[:, None, :], torch.inf).amin(-1)
    from_b = apart.masked_fill(~b[:, None, :], torch.inf).amin(-1)
    through = from_a + from_b
    on_path = (through == through.amin(-1, keepdim=True)) & mask
    away = apart.masked_fill(~on_path[:, None, :], torch.inf).amin(-1)
    return (away <= most) | a | b


_POOL = 20  # batches whose sentences are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Graphs and candidates; words have numbers from 0 in the batch."""

    vectors: Tensor  # (N, D) float32, of words
    rows: Tensor  # (F, N) int64, of the learnt features' tables
    heads: Tensor  # (N,) int64, the number of each word's head, or -1
    sizes: Tensor  # (R,) int64, words of each graph
    graph: Tensor  # (C,) int64, the graph of each candidate
    spans: Tensor  # (C, 4) int64, its mentions' words: from, to, from, to, the ends not included
    labels: Tensor  # (C,) int64, the number of its label, or -1

    def to(self, device: torch.device) -> "Batch":
        """The batch on another device."""
        return Batch(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})

    def pruned(self, most: int) -> "Batch":
        """A graph for each candidate, of the words within ``most`` edges of the path between its
        mentions; the others are gone, and so are their edges."""
        # (C, T), T words of the longest graph: numbers of words, and places of their heads.
        starts = (self.sizes.cumsum(0) - self.sizes)[self.graph][:, None]
        places = torch.arange(int(self.sizes.max()), device=starts.device)
        mask = places < self.sizes[self.graph][:, None]
        words = starts + places
        heads = words.new_full(words.shape, ROOT)
        heads[mask] = self.heads[words[mask]]
        heads = (heads - starts).clamp_(min=ROOT)
        a, b = (
            (words >= self.spans[:, n, None]) & (words < self.spans[:, n + 1, None]) for n in (0, 2)
        )
        keep = near_path(heads, mask, a, b, most)
        numbers = (keep.flatten().cumsum(0) - 1).view_as(keep)  # of the words that stay
        row = keep.nonzero()[:, 0]
        parents = heads[keep].clamp(min=0)
        has_head = (heads[keep] != ROOT) & keep[row, parents]
        spans = self.spans - starts
        firsts = numbers.gather(1, spans[:, ::2])
        return Batch(
            self.vectors[words[keep]],
            self.rows[:, words[keep]],
            numbers[row, parents].masked_fill(~has_head, ROOT),
            keep.sum(1),
            torch.arange(len(keep), device=keep.device),
            torch.stack([firsts, firsts + spans[:, 1::2] - spans[:, ::2]], 2).flatten(1),
            self.labels,
        )


class Examples:
    """The candidates of some sentences of one or more languages.

    Args:
        sentences: S of them; candidates: of each.
        words: their vectors, in order, in parts (as languages have files of their own).
        tables: of the learnt features.
        labels: the number of each label; others are -1.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        candidates: Sequence[Sequence[Candidate]],
        words: Sequence[Words],
        tables: Tables,
        labels: Sequence[str],
    ):
        numbers = {label: number for number, label in enumerate(labels)}
        self.sizes = np.array([len(one.words) for one in sentences])
        self.counts = np.array([len(some) for some in candidates])
        # All sentences one after another; heads and spans count from 0 in their own.
        firsts = np.cumsum([0, *(len(one.table) for one in words)])
        parts = zip(firsts, words, strict=False)
        found = [one.table for one in words]
        self._table = torch.from_numpy(found[0] if len(found) == 1 else np.concatenate(found))
        self._words = np.concatenate([first + rows for first, one in parts for rows in one.rows])
        self._rows = np.concatenate([tables.rows(one) for one in sentences], 1)
        heads = [one.heads or (0,) * len(one.words) for one in sentences]
        self._heads = np.concatenate([np.array(one, dtype=np.int64) for one in heads]) - 1
        of_all = [one for some in candidates for one in some]
        spans = [[one.a.start, one.a.end, one.b.start, one.b.end] for one in of_all]
        self._spans = np.array(spans, dtype=np.int64).reshape(-1, 4)
        self._labels = np.array([numbers.get(one.label, -1) for one in of_all], dtype=np.int64)
        self._first_words = np.cumsum(self.sizes) - self.sizes
        self._first_candidates = np.cumsum(self.counts) - self.counts

    def batch(self, chosen: Sequence[int] | np.ndarray) -> Batch:
        """The sentences of those numbers, with all of their candidates."""
        chosen = np.asarray(chosen)
        sizes, counts = self.sizes[chosen], self.counts[chosen]
        words = _ranges(self._first_words[chosen], sizes)
        candidates = _ranges(self._first_candidates[chosen], counts)
        starts = np.cumsum(sizes) - sizes
        heads = self._heads[words]
        heads = np.where(heads < 0, ROOT, heads + np.repeat(starts, sizes))
        spans = self._spans[candidates] + np.repeat(starts, counts)[:, None]
        return Batch(
            self._table.index_select(0, torch.from_numpy(self._words[words])),
            *map(torch.from_numpy, (self._rows[:, words], heads, sizes)),
            *map(torch.from_numpy, (np.repeat(np.arange(len(chosen)), counts), spans)),
            torch.from_numpy(self._labels[candidates]),
        )

    def batches(self, order: np.ndarray, most: int) -> list[np.ndarray]:
        """Sentences in that order, cut so that each batch has at most ``most`` candidates, or one
        sentence; those without candidates are left out."""
        order = order[self.counts[order] > 0]
        found, start, total = [], 0, 0
        for place, count in enumerate(self.counts[order]):
            if total and total + count > most:
                found.append(order[start:place])
                start, total = place, 0
            total += int(count)
        return [*found, order[start:]] if total else found

    def shuffled(self, generator: np.random.Generator, most: int) -> list[np.ndarray]:
        """`batches` of sentences of similar length, in random order: each sentence once."""
        order = generator.permutation(len(self.sizes))
        pool = np.cumsum(self.counts[order]) // (_POOL * most)
        order = order[np.lexsort((self.sizes[order], pool))]
        found = self.batches(order, most)
        return [found[number] for number in generator.permutation(len(found))]


def _ranges(firsts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Numbers from each of ``firsts``, as many as ``sizes`` says, one after another.

    >>> _ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    return np.arange(sizes.sum()) + np.repeat(firsts - np.cumsum(sizes) + sizes, sizes)
