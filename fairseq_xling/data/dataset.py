"""From a batch's specification to the batch: read rows, apply the objectives, pad."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from fairseq.data import FairseqDataset

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Example
from fairseq_xling.data.permutation import mix
from fairseq_xling.data.plan import BatchSpec, Feed, feed_salt
from fairseq_xling.data.sources import Row

# Changes the rows of one batch before the objectives see them (code-switching, noise).
BatchTransform = Callable[[list[Row], np.random.Generator], list[Row]]


class BatchDataset(FairseqDataset):
    """``dataset[spec]`` is a finished batch; it has no state, so any worker can build any batch.

    Args:
        feeds: what a specification's feed numbers mean.
        objective_ids: the number of each objective's name in the criterion's logs.
        seed: determines a row's masks, together with its feed and counter.
        transforms: applied to the rows of a batch, in order.
        layout: as of `collate`.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        objective_ids: dict[str, int],
        seed: int,
        transforms: Sequence[BatchTransform] = (),
        layout: Callable[[Sequence[Example]], dict[str, Any]] | None = None,
    ):
        self.feeds, self.seed, self.transforms = list(feeds), seed, list(transforms)
        self._layout = layout
        self._objective_ids = [objective_ids[feed.objective.name] for feed in feeds]
        self._salts = [feed_salt(feed.key) for feed in feeds]

    def __len__(self) -> int:
        return sum(len(feed.source) for feed in self.feeds)

    def __getitem__(self, spec: BatchSpec | None) -> dict[str, Any] | None:
        if spec is None:
            return None
        numbers, counters = spec.feeds.tolist(), spec.counters.tolist()
        rows = [
            self.feeds[n].source[i] for n, i in zip(numbers, spec.indices.tolist(), strict=True)
        ]
        for place, transform in enumerate(self.transforms):
            rng = _generator(self.seed, place + 1, self._salts[numbers[0]], counters[0])
            rows = transform(rows, rng)
        examples = [
            self.feeds[n].objective(row, _generator(self.seed, 0, self._salts[n], counter))
            for n, row, counter in zip(numbers, rows, counters, strict=True)
        ]
        pairs = {_pair(self.feeds[n]) for n in set(numbers)}
        return collate(
            examples,
            [self._objective_ids[n] for n in numbers],
            spec.indices.tolist(),
            pairs.pop() if len(pairs) == 1 else None,
            self._layout,
        )


def _pair(feed: Feed) -> tuple[str, str] | None:
    """(source, target) language of a feed's examples, or None where one example has several."""
    if feed.objective.mixes_source_languages:
        return None
    return feed.source.languages[0], feed.source.languages[-1]


def _generator(seed: int, use: int, salt: int, counter: int) -> np.random.Generator:
    # Philox uses its key directly (no hashing), which makes one generator per row affordable.
    key = np.array([mix(seed, use, salt), counter], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
