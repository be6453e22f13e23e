"""From sentences to padded tensors: graphs, and candidates in them.

S sentences, R graphs of a batch, T words of the longest, C candidates, F learnt features, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.structures.features import Tables
from fairseq_xling.structures.sentence import Sentence
from fairseq_xling.structures.tasks import Candidate
from fairseq_xling.structures.trees import near_path
from fairseq_xling.structures.words import Words

PADDING = -1  # the head of a padded word
_POOL = 20  # batches whose sentences are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Graphs and candidates.

    Attributes:
        vectors: (R, T, D) float32, of words.
        rows: (F, R, T) int64, of the learnt features' tables.
        heads: (R, T) int64, from 1, 0 the root, -1 padding, or words without any edge.
        mask: (R, T) bool, words that are not padding.
        graph: (C,) int64, the graph of each candidate.
        a, b: (C, T) bool, the words of its two mentions.
        labels: (C,) int64, the number of its label, or -1.
    """

    vectors: Tensor
    rows: Tensor
    heads: Tensor
    mask: Tensor
    graph: Tensor
    a: Tensor
    b: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """The batch on another device."""
        return Batch(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})

    def pruned(self, most: int) -> "Batch":
        """A graph for each candidate, of the words within ``most`` edges of the path between its
        mentions; the others are gone, and so are their edges."""
        heads = self.heads[self.graph]
        keep = near_path(heads, self.a, self.b, most) & self.mask[self.graph]
        size = int(keep.sum(1).max())
        order = (~keep).long().argsort(dim=1, stable=True)[:, :size]
        mask = keep.gather(1, order)
        # The new place of each old word, from 1; 0 for one that is gone.
        places = (keep.cumsum(1) * keep).long()
        places = torch.cat([torch.zeros_like(places[:, :1]), places], 1)  # 0 is the root
        parents = places.gather(1, heads.clamp(min=0)).gather(1, order)
        return replace(
            self,
            vectors=_taken(self.vectors[self.graph], order),
            rows=torch.stack([one[self.graph].gather(1, order) for one in self.rows])
            if len(self.rows)
            else self.rows.new_zeros((0, *order.shape)),
            heads=parents.masked_fill(~mask, PADDING),
            mask=mask,
            graph=torch.arange(len(order), device=order.device),
            a=self.a.gather(1, order) & mask,
            b=self.b.gather(1, order) & mask,
        )


def _taken(values: Tensor, order: Tensor) -> Tensor:
    return values.gather(1, order[:, :, None].expand(-1, -1, values.shape[2]))


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
        self._tables = [torch.from_numpy(one.table) for one in words]
        self._part = np.repeat(np.arange(len(words)), [len(one.rows) for one in words])
        self._words = [torch.from_numpy(rows) for one in words for rows in one.rows]
        self._rows = [torch.from_numpy(tables.rows(one)) for one in sentences]
        self._heads = [torch.tensor(one.heads or [0] * len(one.words)) for one in sentences]
        self._spans = [
            torch.tensor([[c.a.start, c.a.end, c.b.start, c.b.end] for c in some]).view(-1, 4)
            for some in candidates
        ]
        self._labels = [
            torch.tensor([numbers.get(c.label, -1) for c in some], dtype=torch.int64)
            for some in candidates
        ]
        self.sizes = np.array([len(one.words) for one in sentences])
        self.counts = np.array([len(some) for some in candidates])

    def batch(self, chosen: Sequence[int] | np.ndarray) -> Batch:
        """The sentences of those numbers, with all of their candidates."""
        chosen = [int(number) for number in chosen]
        sizes = torch.from_numpy(self.sizes[chosen])
        longest = int(sizes.max())
        mask = torch.arange(longest) < sizes[:, None]
        width = self._tables[0].shape[1]
        vectors = torch.zeros(len(chosen), longest, width)
        flat = torch.cat([self._tables[self._part[n]][self._words[n]] for n in chosen])
        vectors[mask] = flat
        heads = torch.full(mask.shape, PADDING)
        heads[mask] = torch.cat([self._heads[n] for n in chosen])
        rows = torch.zeros(len(self._rows[0]), *mask.shape, dtype=torch.int64)
        rows[:, mask] = torch.cat([self._rows[n] for n in chosen], 1)
        spans = torch.cat([self._spans[n] for n in chosen])
        counts = torch.from_numpy(self.counts[chosen])
        graph = torch.repeat_interleave(torch.arange(len(chosen)), counts)
        places = torch.arange(longest)
        a, b = (
            (places >= spans[:, edge, None]) & (places < spans[:, edge + 1, None])
            for edge in (0, 2)
        )
        labels = torch.cat([self._labels[n] for n in chosen])
        return Batch(vectors, rows, heads, mask, graph, a, b, labels)

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
