"""Sentences to translate, as fairseq's programs expect them: batches by length, ids as in the text.

B sentences, T source length, U target length.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import FairseqDataset

from fairseq_xling.data.batch import pad_rows, pad_tables
from fairseq_xling.data.folder import PAD
from fairseq_xling.data.mmap import RawText, TokenFile
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.sources import frame, frame_further, frame_order


class Sentences:
    """As a `TokenFile`, in memory: arrays of ids by index, and all their sizes (n,)."""

    def __init__(self, items: Sequence[np.ndarray]):
        self.items = list(items)
        self.sizes = np.array([len(item) for item in self.items], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.items[index]


Items = TokenFile | Sentences


class TranslationDataset(FairseqDataset):
    """``dataset[indices]`` is the batch of those sentences; an empty one for ``None``.

    Args:
        source: ids of each sentence, ending in ``</s>``; longer ones are cut for the model.
        max_positions: the longest row that the model reads, ``<s>`` and ``</s>`` included.
        target: references, likewise; they are never cut.
        order: for each target token its source token's index + 1, or 0, as in the data folder.
        further: further links of each target token, as in the data folder.
        window: how many sentences are sorted by length together.
        raw: the references as text.
    """

    def __init__(
        self,
        source: Items,
        max_positions: int,
        target: Items | None = None,
        order: Items | None = None,
        window: int = 1 << 15,
        further: Items | None = None,
        raw: RawText | None = None,
    ):
        self.source, self.target, self.order, self.further = source, target, order, further
        self.raw = raw
        self.max_positions, self.window = max_positions, window

    def __len__(self) -> int:
        return len(self.source)

    def num_truncated(self) -> int:
        """How many sources are too long for the model."""
        return int((self.source.sizes >= self.max_positions).sum())

    def batches(self, limits: Limits) -> Iterator[np.ndarray]:
        """The indices of each batch: neighbours in length, every sentence once."""
        for start in range(0, len(self), self.window):
            sizes = np.asarray(self.source.sizes[start : start + self.window])
            lengths = np.minimum(sizes + 1, self.max_positions)
            yield from (start + rows for rows in cut(lengths, limits))

    def __getitem__(self, indices: np.ndarray | None) -> dict[str, Any]:
        """A batch: ``id`` (B,), ``nsentences``, ``ntokens``, ``target`` (B, U) without ``<s>`` or
        None, and ``net_input``: ``src_tokens`` (B, T), ``src_lengths`` (B,), and with alignments
        ``order`` (B, U) and ``tgt_lengths`` (B,), counted with ``<s>`` and cut at the positions,
        and ``further`` (B, U, K) if there are further links. ``references`` are the raw texts, if
        there are any.
        """
        if indices is None:
            return {}
        numbers = indices.tolist()
        sources = [frame(self.source[i], self.max_positions) for i in numbers]
        targets = None if self.target is None else [self.target[i] for i in numbers]
        net_input = {
            "src_tokens": pad_rows(sources, PAD),
            "src_lengths": torch.tensor([len(row) for row in sources]),
        }
        if self.order is not None:
            lengths = [min(len(row) + 1, self.max_positions) for row in targets]
            orders = [
                frame_order(self.order[i], len(source), length)
                for i, source, length in zip(numbers, sources, lengths, strict=True)
            ]
            net_input |= {"order": pad_rows(orders, -1), "tgt_lengths": torch.tensor(lengths)}
            if self.further is not None:
                rows = zip(numbers, targets, sources, lengths, strict=True)
                tables = [
                    frame_further(self.further[i].reshape(len(row), -1), len(source), length)
                    for i, row, source, length in rows
                ]
                further = pad_tables(tables, max(lengths))
                net_input |= {} if further is None else {"further": further}
        batch = {
            "id": torch.from_numpy(np.asarray(indices, dtype=np.int64)),
            "nsentences": len(numbers),
            "ntokens": int(net_input["src_lengths"].sum()),
            "net_input": net_input,
            "target": None if targets is None else pad_rows(targets, PAD),
        }
        if self.raw is not None:
            batch["references"] = [self.raw[i] for i in numbers]
        return batch
