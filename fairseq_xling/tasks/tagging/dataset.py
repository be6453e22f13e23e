"""Annotated sentences to evaluate or predict, and the batches of both languages to train on."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from fairseq.data import FairseqDataset

from fairseq_xling.data.sampling import permute
from fairseq_xling.errors import UserError
from fairseq_xling.models.tagging.part import Part
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.tagging.head import WordHead
from fairseq_xling.tasks.tagging.sentences import make_part

_WINDOW = 32  # batches whose sentences are sorted by length together in training


class Sentences(ItemDataset):
    """`ItemDataset` of words; a batch has one part, of one language."""

    head: WordHead

    def part(self, indices: Sequence[int]) -> Part:
        """These sentences, of one language, with their tags where they are annotated."""
        fields = [self.encoded[i].fields for i in indices]
        number = int(self._parts[indices[0]])
        annotated = all(self.items[i].tags is not None for i in indices)
        tags = [field["tag"] for field in fields] if annotated else None
        spelling = self.codecs[number].spelling
        return make_part(self._numbers[number], spelling, [f["ids"] for f in fields], tags)

    def collater(self, samples: Sequence[int]) -> dict[str, Any]:
        """One batch with its items."""
        if not len(samples):
            return {}
        part = self.part(samples)
        return {
            "id": torch.tensor(list(samples)),
            "nsentences": len(samples),
            "ntokens": int(part["lengths"].sum()),
            "items": [self.items[i] for i in samples],
            "net_input": {"parts": [part], "fields": {}},
        }


class Stream(Protocol):
    """Sentences of one language to train on."""

    sizes: np.ndarray

    def __len__(self) -> int: ...

    def part(self, indices: Sequence[int]) -> Part:
        """These sentences."""


class Together(FairseqDataset):
    """Batches of as many sentences of each stream; the smaller ones repeat.

    An epoch is the larger stream once, or ``epoch_sentences`` of each. Which sentences, and in
    which order, depends on the seed and the epoch alone. Each stream goes through its sentences in
    its own order, those near each other sorted by length.
    """

    def __init__(self, streams: Sequence[Stream], seed: int, epoch_sentences: int = 0):
        self.streams, self.seed, self.epoch = streams, seed, 1
        self.length = epoch_sentences or max(map(len, streams))
        self._rows: list[np.ndarray] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        return int(index)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    @property
    def can_reuse_epoch_itr_across_epochs(self) -> bool:
        return False  # the order differs between epochs

    def num_tokens(self, index: int) -> int:
        return 1  # of fairseq's own batches, which are not used

    def size(self, index: int) -> int:
        return 1

    def ordered_indices(self) -> np.ndarray:
        return np.arange(self.length)

    def batch_by_size(
        self,
        indices: np.ndarray,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        required_batch_size_multiple: int = 1,
    ) -> list[np.ndarray]:
        """Batches of ``max_sentences`` of each stream.

        Raises:
            UserError: without that number.
        """
        if max_sentences is None or max_tokens is not None:
            raise UserError(
                "`--batch-size` must be the number of sentences of each language, without "
                "`--max-tokens`"
            )
        window = _WINDOW * max_sentences
        self._rows = [self._order(number, window) for number in range(len(self.streams))]
        return [indices[at : at + max_sentences] for at in range(0, self.length, max_sentences)]

    def _order(self, number: int, window: int) -> np.ndarray:
        """The sentences (length,) of a stream in this epoch: every one once before any again."""
        stream = self.streams[number]
        start = (self.epoch - 1) * self.length
        counters = np.arange(start, start + self.length)
        passes, places = np.divmod(counters, len(stream))
        rows = np.empty(self.length, dtype=np.int64)
        for one in range(int(passes[0]), int(passes[-1]) + 1):
            chosen = passes == one
            rows[chosen] = permute(places[chosen], len(stream), self.seed, number, one)
        for at in range(0, self.length, window):
            piece = rows[at : at + window]
            rows[at : at + window] = piece[np.argsort(stream.sizes[piece], kind="stable")]
        return rows

    def collater(self, samples: Sequence[int]) -> dict[str, Any]:
        """One batch: a part of each stream."""
        if not len(samples):
            return {}
        chosen = np.array(samples)
        parts = [
            stream.part(rows[chosen].tolist())
            for stream, rows in zip(self.streams, self._rows, strict=True)
        ]
        return {
            "id": torch.from_numpy(chosen),
            "nsentences": sum(len(part["lengths"]) for part in parts),
            "ntokens": sum(int(part["lengths"].sum()) for part in parts),
            "net_input": {"parts": parts},
        }
