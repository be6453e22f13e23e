"""Which rows form which batch: decided by counters, so nothing grows with the corpus.

A *feed* is an objective reading a source. A *lane* is a set of feeds whose rows may share a batch:
one feed each where every batch has one language, all of them where languages may mix. A lane draws
windows of rows, each feed in its own random order without repetition, sorts a window by length,
cuts it into batches and shuffles those. A *group* is the batches of one optimiser step over all
workers: it comes from one lane, so a step has the same language everywhere.

Everything is a function of the seed and of each lane's progress, its *cursor*; saving the cursors
with a checkpoint is enough to resume exactly where a run was killed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from operator import add

import numpy as np

from fairseq_xling.data.example import Objective
from fairseq_xling.data.sampling import mix, permute
from fairseq_xling.data.sources import Source


@dataclass(frozen=True)
class Feed:
    """``objective`` reading ``source``, and its share of the batches."""

    objective: Objective
    source: Source
    share: float

    @property
    def key(self) -> str:
        """Names the feed in logs, and its order of rows and masks in every run."""
        return f"{self.objective.name}:{self.source.name}"


@dataclass(frozen=True)
class BatchSpec:
    """What a loader worker needs to build one batch: (n,) arrays, one entry per row.

    ``counters`` number a feed's rows over the whole training, and so give every occurrence of a
    row its own randomness.
    """

    feeds: np.ndarray
    indices: np.ndarray
    counters: np.ndarray


@dataclass
class Cursor:
    """A lane's progress: rows drawn per feed at the window's start, and batches since."""

    drawn: list[int]
    batch: int = 0
    window: int = 0

    def state(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Limits:
    """Batch size: up to ``tokens`` padded tokens and ``rows`` rows; ``None`` is no limit."""

    tokens: int | None
    rows: int | None


@dataclass
class Plan:
    """The endless training order over ``feeds``.

    ``window`` is the number of rows sorted by length together: larger means less padding. With
    ``alternate``, lanes alternate by their shares instead of being sampled.
    """

    feeds: Sequence[Feed]
    limits: Limits
    seed: int
    mix: bool = False
    alternate: bool = False
    window: int = 1 << 15
    _lanes: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        every = list(range(len(self.feeds)))
        self._lanes = [every] if self.mix else [[number] for number in every]
        self._salts = [feed_salt(feed.key) for feed in self.feeds]

    def start(self) -> list[Cursor]:
        """The cursors at the start of a training."""
        return [Cursor([0] * len(lane)) for lane in self._lanes]

    def fits(self, cursors: Sequence[Cursor]) -> bool:
        """Whether ``cursors`` are of as many lanes and feeds."""
        return [len(c.drawn) for c in cursors] == [len(c.drawn) for c in self.start()]

    def batches_per_pass(self) -> int:
        """The approximate number of batches of one pass over all sources."""
        total = 0.0
        for feed in self.feeds:
            by_rows = len(feed.source) / self.limits.rows if self.limits.rows else 0.0
            by_tokens = feed.source.num_tokens / self.limits.tokens if self.limits.tokens else 0.0
            total += max(by_rows, by_tokens)
        return max(1, round(total))

    def groups(
        self, cursors: list[Cursor], first: int, count: int, size: int
    ) -> Iterator[list[BatchSpec]]:
        """``count`` groups of ``size`` batches, from group number ``first``; moves ``cursors``."""
        shares = np.array([sum(self.feeds[f].share for f in lane) for lane in self._lanes])
        shares /= shares.sum()
        windows: dict[int, list[BatchSpec]] = {}
        for group in range(first, first + count):
            draw = _turn(group) if self.alternate else self._rng(1, group).random()
            # "right": a draw on a border belongs to the lane that begins there, and a lane without
            # a share is never drawn.
            found = np.searchsorted(np.cumsum(shares), draw, side="right")
            lane = min(int(found), len(shares) - 1)
            yield [self._next(lane, cursors[lane], windows) for _ in range(size)]

    def _rng(self, use: int, *key: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=mix(self.seed, use, *key)))

    def _next(self, lane: int, cursor: Cursor, windows: dict[int, list[BatchSpec]]) -> BatchSpec:
        if lane not in windows:
            windows[lane] = self._window(lane, cursor)
        if cursor.batch >= len(windows[lane]):  # greater after a change of the batch size
            cursor.drawn = list(map(add, cursor.drawn, self._quota(lane, cursor)))
            cursor.batch, cursor.window = 0, cursor.window + 1
            windows[lane] = self._window(lane, cursor)
        cursor.batch += 1
        return windows[lane][cursor.batch - 1]

    def _quota(self, lane: int, cursor: Cursor) -> list[int]:
        """Rows that each feed of the lane puts into the window, by its share."""
        feeds = [self.feeds[number] for number in self._lanes[lane]]
        shares = np.array([feed.share for feed in feeds])
        rows = max(1, min(self.window, sum(len(feed.source) for feed in feeds)))
        rng = self._rng(2, lane, cursor.window)
        return rng.multinomial(rows, shares / shares.sum()).tolist()

    def _window(self, lane: int, cursor: Cursor) -> list[BatchSpec]:
        numbers, indices, counters, lengths = [], [], [], []
        quota = self._quota(lane, cursor)
        for number, drawn, rows in zip(self._lanes[lane], cursor.drawn, quota, strict=True):
            feed = self.feeds[number]
            counter = np.arange(drawn, drawn + rows)
            index = self._rows(number, counter)
            numbers.append(np.full(rows, number))
            indices.append(index)
            counters.append(counter)
            lengths.append(feed.objective.max_length(feed.source.lengths(index)))
        rng = self._rng(3, lane, cursor.window)
        # Feeds come one after another; without this, rows of equal length would not mix.
        mixed = rng.permutation(sum(quota))
        rows = BatchSpec(*(np.concatenate(part)[mixed] for part in (numbers, indices, counters)))
        specs = _cut(rows, np.concatenate(lengths)[mixed], self.limits)
        return [specs[i] for i in rng.permutation(len(specs))]

    def _rows(self, number: int, counters: np.ndarray) -> np.ndarray:
        """The rows at ``counters``: each pass over the source in a new random order. If the source
        ``renews`` its rows, row i of pass p has the number ``i + p len(source)``."""
        source = self.feeds[number].source
        size, later = len(source), source.renews
        passes, positions = np.divmod(counters, size)
        rows = np.empty(len(counters), dtype=np.int64)
        for one in np.unique(passes):
            here = passes == one
            rows[here] = permute(positions[here], size, self.seed, self._salts[number], int(one))
            rows[here] += later * int(one) * size
        return rows


def _turn(group: int) -> float:
    """The van der Corput sequence: fills [0, 1) evenly, so two equal shares alternate strictly.

    >>> [_turn(group) for group in range(5)]
    [0.0, 0.5, 0.25, 0.75, 0.125]
    """
    bits = f"{group:b}"[::-1]
    return int(bits, 2) / (1 << len(bits))


def in_order(feeds: Sequence[Feed], limits: Limits, window: int = 1 << 15) -> Iterator[BatchSpec]:
    """Every row of every feed once: what validation and testing read.

    Rows are sorted by length within windows; a row's counter is its index, so its masks are the
    same in every run and for every batch size.
    """
    for number, feed in enumerate(feeds):
        for start in range(0, len(feed.source), window):
            index = np.arange(start, min(start + window, len(feed.source)))
            lengths = feed.objective.max_length(feed.source.lengths(index))
            yield from _cut(BatchSpec(np.full(len(index), number), index, index), lengths, limits)


def cut(lengths: np.ndarray, limits: Limits) -> list[np.ndarray]:
    """Rows of ``lengths`` (n,) grouped into batches of neighbouring lengths within ``limits``.

    Returns:
        The row numbers of each batch; a row longer than the limit is a batch alone.

    >>> [batch.tolist() for batch in cut(np.array([5, 2, 3, 2]), Limits(tokens=6, rows=None))]
    [[1, 3], [2], [0]]
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    batches, start = [], 0
    while start < len(order):
        end = len(order) if limits.rows is None else min(len(order), start + limits.rows)
        if limits.tokens is not None:
            # lengths rise, so the padded size of start..k rises with k: find the last that fits
            reach = min(end, start + max(1, limits.tokens // max(1, int(ordered[start]))))
            padded = ordered[start:reach] * np.arange(1, reach - start + 1)
            end = start + max(1, int(np.searchsorted(padded, limits.tokens, side="right")))
        batches.append(order[start:end])
        start = end
    return batches


def _cut(rows: BatchSpec, lengths: np.ndarray, limits: Limits) -> list[BatchSpec]:
    return [
        BatchSpec(rows.feeds[chosen], rows.indices[chosen], rows.counters[chosen])
        for chosen in cut(lengths, limits)
    ]


def feed_salt(key: str) -> int:
    """A number for a feed's name, to key its randomness by."""
    return mix(*key.encode())
