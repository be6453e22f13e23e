"""The text that an objective reads: single sentences, continuous streams, or translated pairs.

A source has random access by index and knows every row's length without reading it. Rows are
framed for the model: ``<s>`` (CLS) first, ``</s>`` (SEP) after each sentence.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sampling import permute

_PIECE = 1 << 16  # sentences looked at together: checks need the same memory for any corpus


@dataclass(frozen=True)
class Side:
    """One language's half of a row: ids (n,) int64 with CLS and SEP, and the language's code."""

    tokens: np.ndarray
    lang: str


@dataclass(frozen=True)
class Row:
    """One unit of text; ``target`` and ``order`` only where the source is parallel.

    ``order`` (len(target.tokens),) holds for each target token the index of the source token it
    is aligned with, or -1 for none, and ``further`` (len(target.tokens), K) those of further
    links. ``follows`` is, for two segments of one language, whether the second comes after the
    first in the text.
    """

    source: Side
    target: Side | None = None
    order: np.ndarray | None = None
    follows: bool | None = None
    further: np.ndarray | None = None


class Source:
    """Rows by index. A class has its own `rows` (those of a batch together take a quarter of the
    time), or reads each by ``source[index]``.

    Attributes:
        name: the language or the pair; languages: those of the sides.
        num_sentences, num_tokens: of all rows.
        renews: whether rows after the last are those of further passes (see `data.plan`).
    """

    name: str
    languages: tuple[str, ...]
    num_sentences: int
    num_tokens: int
    renews = False

    def __len__(self) -> int:
        raise NotImplementedError

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        """How long the rows at ``indices`` (B,) are, in tokens: (B,)."""
        raise NotImplementedError

    def num_truncated(self) -> int:
        """How many sentences, of either side, lose tokens."""
        return 0

    def rows(self, indices: np.ndarray) -> list[Row]:
        """The rows at ``indices`` (B,)."""
        return [self[index] for index in indices.tolist()]

    def __getitem__(self, index: int) -> Row:
        return self.rows(np.array([index]))[0]


# Methods of cutting a language's text into rows; each has ``open(file, lang, cfg, max_positions)``.
break_modes: Registry = Registry("`--sample-break-mode`")


@break_modes.register("sentence")
class Sentences(Source):
    """One sentence a row, cut at ``max_positions`` ids (CLS and SEP included)."""

    def __init__(self, file: TokenFile, lang: str, max_positions: int):
        self.file, self.max_positions = file, max_positions
        self.name, self.languages = lang, (lang,)
        self.num_sentences, self.num_tokens = len(file), len(file.tokens) + len(file)

    @classmethod
    def open(cls, file: TokenFile, lang: str, cfg: Any, max_positions: int) -> "Sentences":
        return cls(file, lang, max_positions)

    def __len__(self) -> int:
        return len(self.file)

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        return np.minimum(self.file.sizes[indices] + 1, self.max_positions)

    def num_truncated(self) -> int:
        return count_longer(self.file, self.max_positions)

    def rows(self, indices: np.ndarray) -> list[Row]:
        sentences = split(*_framed(self.file, indices, self.max_positions))
        return [Row(Side(tokens, self.languages[0])) for tokens in sentences]


BLOCK = 256  # tokens


@break_modes.register("none")
class Stream(Source):
    """Continuous text: rows of exactly ``tokens_per_sample`` ids including CLS, across sentences.

    The concatenated rows without their CLS are the corpus; only the last may be shorter.
    (Emerging Cross-lingual Structure, Section 3.1.)
    """

    def __init__(self, file: TokenFile, lang: str, tokens_per_sample: int):
        self.file, self.step = file, tokens_per_sample - 1
        self.name, self.languages = lang, (lang,)
        self.num_sentences, self.num_tokens = len(file), len(file.tokens) + len(self)

    @classmethod
    def open(cls, file: TokenFile, lang: str, cfg: Any, max_positions: int) -> "Stream":
        """A stream in blocks of ``cfg.tokens_per_sample``, by default of `BLOCK`, if that fits.

        Raises:
            UserError: for blocks longer than the model's positions.
        """
        length = cfg.tokens_per_sample or min(BLOCK, max_positions)
        if length > max_positions:
            raise UserError(
                "`--tokens-per-sample` must not exceed the model's `--max-positions` "
                f"{max_positions}, got {length}"
            )
        return cls(file, lang, length)

    def __len__(self) -> int:
        return -(-len(self.file.tokens) // self.step)

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        return np.minimum(self.step, len(self.file.tokens) - indices * self.step) + 1

    def rows(self, indices: np.ndarray) -> list[Row]:
        lengths = self.lengths(indices)
        blocks = split(_after_cls(self.file.tokens, indices * self.step, lengths), lengths)
        return [Row(Side(tokens, self.languages[0])) for tokens in blocks]


class Pairs(Source):
    """A sentence and its translation, each cut at ``max_positions``; ``order`` if there is one,
    and ``further`` links if there are any."""

    def __init__(
        self,
        source: TokenFile,
        target: TokenFile,
        pair: tuple[str, str],
        max_positions: int,
        order: TokenFile | None = None,
        further: TokenFile | None = None,
    ):
        self.source, self.target, self.order, self.further = source, target, order, further
        self.languages, self.name = pair, "-".join(pair)
        self.max_positions = max_positions
        self.num_sentences = len(source)
        self.num_tokens = sum(len(file.tokens) + len(file) for file in (source, target))

    def __len__(self) -> int:
        return len(self.source)

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        longer = np.maximum(self.source.sizes[indices], self.target.sizes[indices])
        return np.minimum(longer + 1, self.max_positions)

    def num_truncated(self) -> int:
        return sum(count_longer(file, self.max_positions) for file in (self.source, self.target))

    def num_without_slots(self, times: int) -> int:
        """How many translations have more tokens than ``times`` for each position of the source."""
        found = 0
        for piece in _pieces(len(self)):
            read, framed = (
                np.minimum(file.sizes[piece] + 1, self.max_positions)
                for file in (self.source, self.target)
            )
            found += int((framed - 2 > times * read).sum())
        return found

    def rows(self, indices: np.ndarray) -> list[Row]:
        one, other = self.languages
        source, lengths = _framed(self.source, indices, self.max_positions)
        target, sizes = _framed(self.target, indices, self.max_positions)
        orders = tables = [None] * len(indices)
        if self.order is not None:
            stored, _ = _framed(self.order, indices, self.max_positions)
            orders = split(_framed_orders(stored, lengths, sizes), sizes)
        if self.further is not None:
            links = [self.further[i].reshape(int(self.target.sizes[i]), -1) for i in indices]
            tables = map(frame_further, links, lengths, sizes)
        columns = split(source, lengths), split(target, sizes), orders, tables
        return [
            Row(Side(read, one), Side(written, other), order, further=further)
            for read, written, order, further in zip(*columns, strict=True)
        ]


def frame(tokens: np.ndarray, max_positions: int) -> np.ndarray:
    """CLS before ``tokens`` (n,), which end in SEP; cut to ``max_positions``, SEP kept last.

    >>> frame(np.array([7, 8, 9, 2]), 4).tolist()
    [0, 7, 8, 2]
    """
    if len(tokens) + 1 <= max_positions:
        return np.concatenate(([CLS], tokens))
    return np.concatenate(([CLS], tokens[: max_positions - 2], [SEP]))


def _framed(
    file: TokenFile, indices: np.ndarray, max_positions: int
) -> tuple[np.ndarray, np.ndarray]:
    """`frame` of the items ``indices`` (B,), back to back (N,), and their lengths (B,)."""
    sizes = file.sizes[indices]
    lengths = np.minimum(sizes + 1, max_positions)
    ids = _after_cls(file.tokens, file.starts(indices), lengths)
    ids[lengths.cumsum()[sizes >= max_positions] - 1] = SEP
    return ids, lengths


def _after_cls(tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Rows of ``lengths`` (B,): CLS, and ``tokens`` from ``starts`` (B,) on; back to back (N,)."""
    ids = tokens[spans(starts - 1, lengths)].astype(np.int64)
    ids[lengths.cumsum() - lengths] = CLS  # instead of the token before
    return ids


def spans(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """As many numbers as ``lengths`` (B,), from ``starts`` (B,) on, back to back: (N,).

    >>> spans(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    return np.arange(lengths.sum()) + np.repeat(starts - (lengths.cumsum() - lengths), lengths)


def split(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """``values`` (N,) in pieces of ``lengths`` (B,); `np.split` takes four times as long."""
    return [values[a:b] for a, b in itertools.pairwise([0, *lengths.cumsum().tolist()])]


def frame_order(stored: np.ndarray, source_length: int, target_length: int) -> np.ndarray:
    """The stored alignment (index + 1 of the source token, 0 = none) for framed sentences.

    CLS is aligned with CLS and SEP with SEP; links to a token that was cut become -1.

    >>> frame_order(np.array([2, 0, 1, 3]), 4, 5).tolist()
    [0, 2, -1, 1, 3]
    """
    stored = np.concatenate(([CLS], stored))[:target_length]
    return _framed_orders(stored, np.array([source_length]), np.array([target_length]))


def _framed_orders(stored: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """`frame_order` of several, (N,) with a place for CLS, of ``lengths`` and ``sizes`` (B,)."""
    # The framed source has CLS in front, so the stored index + 1 is the framed index.
    ends = sizes.cumsum()
    order = np.where(stored > 0, stored, -1)
    order[ends - sizes] = 0
    order[order >= np.repeat(lengths - 1, sizes)] = -1
    order[ends - 1] = lengths - 1
    return order


def frame_further(stored: np.ndarray, source_length: int, target_length: int) -> np.ndarray:
    """Further links (n, K), stored as those of `frame_order`, for framed sentences.

    CLS and SEP have none.

    >>> frame_further(np.array([[2], [0], [1], [0]]), 4, 5).ravel().tolist()
    [-1, 2, -1, 1, -1]
    """
    framed = np.full((target_length, stored.shape[1]), -1)
    inside = stored[: target_length - 2]
    framed[1:-1] = np.where((inside > 0) & (inside < source_length - 1), inside, -1)
    return framed


def count_longer(file: TokenFile, max_positions: int) -> int:
    """How many items of ``file`` do not fit ``max_positions`` together with their CLS.

    The sizes are read in pieces, so memory does not grow with the corpus.
    """
    return sum(int((file.sizes[p] >= max_positions).sum()) for p in _pieces(len(file)))


def _pieces(count: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, count, _PIECE))


NOT_NEXT, NEXT = 1, 2  # a row's label; 0 is a row that has none
_SEED = 1


class SegmentPairs(Source):
    """Row 2 k holds sentences k and k + 1; row 2 k + 1 holds k and one that does not follow it."""

    renews = True

    def __init__(self, file: TokenFile, lang: str, max_positions: int):
        if len(file) < 3:
            raise UserError(
                f"{file.prefix}: next sentence prediction needs at least 3 sentences, got "
                f"{len(file)}"
            )
        self.file, self.max_positions = file, max_positions
        self.name, self.languages = lang, (lang,)
        self.num_sentences, self.num_tokens = len(file), 4 * len(file.tokens) + len(self)
        # How much of each segment fits: apart from <s>, the first gets the odd position.
        self._most = (-(-(max_positions - 1) // 2), (max_positions - 1) // 2)

    def __len__(self) -> int:
        return 2 * (len(self.file) - 1)

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        first, second = self._firsts(indices), self._seconds(indices)
        one, other = self.file.sizes[first], self.file.sizes[second]
        return 1 + np.minimum(one, self._most[0]) + np.minimum(other, self._most[1])

    def num_truncated(self) -> int:
        """How many sentences are longer than the room for a second segment."""
        return count_longer(self.file, self._most[1] + 1)

    def rows(self, indices: np.ndarray) -> list[Row]:
        lang, after = self.languages[0], (indices % 2 == 0).tolist()
        firsts = split(*_framed(self.file, self._firsts(indices), self._most[0] + 1))
        seconds = split(*_framed(self.file, self._seconds(indices), self._most[1] + 1))
        return [
            Row(Side(first, lang), Side(second[1:], lang), follows=follows)  # without its CLS
            for first, second, follows in zip(firsts, seconds, after, strict=True)
        ]

    def _firsts(self, indices: np.ndarray) -> np.ndarray:
        return indices % len(self) // 2

    def _seconds(self, indices: np.ndarray) -> np.ndarray:
        first, passes, count = self._firsts(indices), indices // len(self), len(self.file)
        drawn = np.empty_like(first)
        for one in np.unique(passes):
            here = passes == one
            drawn[here] = permute(first[here], count, _SEED, 0, int(one))
        own = (drawn == first) | (drawn == first + 1)
        drawn = np.where(own, (first + 2) % count, drawn)
        return np.where(indices % 2 == 0, first + 1, drawn)
