"""Annotated items as a fairseq dataset: encoded once, batched by language and length.

A batch, of B items, R rows, T tokens:

    net_input: src {tokens, langs, positions, segments, [padding_mask]}   (R, T)
                   [vectors]: of the words of its tokens (R, T, E)
               pair (language, language); fields {name: (B, ...)}, the head's own
    items      the B items, for predictions; id (B,), nsentences, ntokens

A BiLSTM baseline reads sentences as ids of words and of parts of speech, without subwords
(`WordTagDataset`): n tokens of a row are the root, the words, the end.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.progress import progress
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.data.batch import pad_rows, source_side
from fairseq_xling.data.folder import PAD, SPECIALS, UNK
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.models.bilstm_baseline import FIRST_TAG, FRAME, UNKNOWN
from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.heads import Head
from fairseq_xling.tasks.items import Item

_WINDOW = 64  # batches whose items are sorted by length together in training


class EpochDataset(FairseqDataset):
    """Samples by number, whose order and batches may differ between epochs."""

    epoch = 1
    can_reuse_epoch_itr_across_epochs = False

    def __getitem__(self, index: int) -> int:
        return int(index)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class ItemDataset(EpochDataset):
    """Items of one or more languages.

    Args:
        parts: the language's codec, its number for the model, and its items, for each file; the
            codecs are its ``codecs``.
        shuffle: whether the order and the batches change with the epoch (training).
        seed: of that order.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Codec, int, Sequence[Item]]],
        head: Head,
        shuffle: bool = False,
        seed: int = 1,
    ):
        self.head, self.shuffle, self.seed = head, shuffle, seed
        self.items: list[Item] = []
        self.encoded: list[Encoded] = []
        langs, self._numbers = [], []
        self.codecs = [codec for codec, _, _ in parts]
        self._words: list[list[np.ndarray]] = []  # rows of their vectors, where there are some
        total = sum(len(items) for _, _, items in parts)
        with progress(total, "encoding", "items", checks=True) as bar:
            for part, (codec, number, items) in enumerate(parts):
                for item in items:
                    encoded = self.encode(item, codec)
                    padded = len(encoded.rows) * max(map(len, encoded.rows))
                    check_bound("item", padded, item.place)
                    self.encoded.append(encoded)
                    found = [codec.vectors.rows(row) for row in encoded.rows if codec.vectors]
                    self._words.append(found)
                    bar.update(1)
                codec.report()
                self.items += items
                langs += [part] * len(items)
                self._numbers.append(number)
        self._parts = np.array(langs, dtype=np.int64)
        self.sizes = np.array([sum(map(len, e.rows)) for e in self.encoded], dtype=np.int64)

    def encode(self, item: Item, codec: Codec) -> Encoded:
        """An item as model input."""
        return self.head.encode(item, codec)

    def __len__(self) -> int:
        return len(self.items)

    def num_tokens(self, index: int) -> int:
        return int(self.sizes[index])

    size = num_tokens

    def ordered_indices(self) -> np.ndarray:
        if not self.shuffle:
            return np.arange(len(self))
        return np.random.default_rng((self.seed, self.epoch)).permutation(len(self))

    def batch_by_size(
        self,
        indices: np.ndarray,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        required_batch_size_multiple: int = 1,
    ) -> list[np.ndarray]:
        """Batches of one language each; in training of similar, not of equal, length."""
        for name, value in (("--max-tokens", max_tokens), ("--batch-size", max_sentences)):
            if value is not None and value < 1:
                raise UserError(f"`{name}` must be at least 1, got {value}")
        limits, batches = Limits(max_tokens, max_sentences), []
        for part in range(len(self.codecs)):
            own = indices[self._parts[indices] == part]
            window = self._window(own, limits) if self.shuffle else max(len(own), 1)
            for start in range(0, len(own), window):
                piece = own[start : start + window]
                batches += [piece[rows] for rows in cut(self.sizes[piece], limits)]
        return batches

    def _window(self, indices: np.ndarray, limits: Limits) -> int:
        rows = limits.rows or len(indices)
        if limits.tokens is not None:
            rows = min(rows, int(limits.tokens / max(self.sizes[indices].mean(), 1)))
        return _WINDOW * max(rows, 1)

    def collater(self, samples: Sequence[int]) -> dict[str, Any]:
        """One batch; the layout is at the top of this file."""
        if not len(samples):
            return {}
        encoded = [self.encoded[i] for i in samples]
        part = int(self._parts[samples[0]])
        rows = [row for item in encoded for row in item.rows]
        tokens = pad_rows(rows, PAD)
        lengths = torch.tensor([len(row) for row in rows])
        src = source_side(tokens, lengths, self._numbers[part])
        src["segments"] = pad_rows([row for item in encoded for row in item.segments], 0)
        codec = self.codecs[part]
        if codec.vectors:
            words = pad_rows([row for i in samples for row in self._words[i]], 0)
            src["vectors"] = torch.from_numpy(codec.vectors.table)[words]
        return {
            "id": torch.tensor(list(samples)),
            "nsentences": len(samples),
            "ntokens": int(lengths.sum()),
            "items": [self.items[i] for i in samples],
            "net_input": {
                "src": src,
                "pair": (codec.lang, codec.lang),
                "fields": pad_fields([e.fields for e in encoded], self.head.fills),
            },
        }


def pad_fields(fields: Sequence[dict[str, np.ndarray]], fills: Any) -> dict[str, Tensor]:
    """Fields of B items, with the same number of dimensions, as tensors (B, ...).

    >>> pad_fields([{"x": np.array([1, 2])}, {"x": np.array([3])}], {"x": -1})["x"].tolist()
    [[1, 2], [3, -1]]
    """
    result = {}
    for name in fields[0]:
        arrays = [np.asarray(field[name]) for field in fields]
        shape = np.max([array.shape for array in arrays], axis=0) if arrays[0].ndim else ()
        padded = np.full((len(arrays), *map(int, shape)), fills.get(name, 0), arrays[0].dtype)
        for number, array in enumerate(arrays):
            padded[(number, *map(slice, array.shape))] = array
        result[name] = torch.from_numpy(padded)
    return result


ENDLESS = 1 << 30  # positions of a network that reads sentences of any length


def given_tags(head: type[Head], item: Item) -> Sequence[str]:
    """The parts of speech of a sentence."""
    tags = head.given_tags(item)
    if set(tags) == {"_"}:
        raise UserError(f"{item.place}: must have parts of speech, got '_'")
    return tags


def count_contents(
    head: type[Head], items: Iterable[Item], least: int
) -> tuple[list[str], list[str]]:
    """The words that occur ``least`` times in ``items``, and all parts of speech: both sorted."""
    words: Counter[str] = Counter()
    tags: set[str] = set()
    for item in items:
        words.update(item.words)
        tags.update(given_tags(head, item))
    return sorted(word for word, count in words.items() if count >= least), sorted(tags)


class WordTagCodec:
    """A `Codec` for which each word is one id."""

    max_positions = ENDLESS
    vectors = None  # a model learns its own

    def __init__(self, lang: str, words: Iterable[str], tags: Iterable[str]):
        self.lang = lang
        self._words = {word: number for number, word in enumerate(words, start=SPECIALS)}
        self._tags = {tag: number for number, tag in enumerate(tags, start=FIRST_TAG)}

    def words(self, words: Sequence[str]) -> list[np.ndarray]:
        """The id of each word, (1,)."""
        return [np.array([self._words.get(word, UNK)]) for word in words]

    def tags(self, tags: Sequence[str]) -> np.ndarray:
        """(n,) numbers of the root's, the words' and the end's tag."""
        inside = [self._tags.get(tag, UNKNOWN) for tag in tags]
        return np.array([FRAME, *inside, FRAME])

    def report(self) -> None:
        """Nothing is cut, so there is nothing to report of a file's items."""


class WordTagDataset(ItemDataset):
    """`ItemDataset` whose fields also have ``tags`` (B, n)."""

    def encode(self, item: Item, codec: WordTagCodec) -> Encoded:
        """See `ItemDataset`."""
        found = self.head.encode(item, codec)
        found.fields["tags"] = codec.tags(given_tags(type(self.head), item))
        return found
