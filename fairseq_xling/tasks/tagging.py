"""Cross-lingual tagging of words: mapped vectors, a shared BiLSTM, a language adversary.

Words of two languages have vectors in one space; a network that knows no language reads them, and
a discriminator that cannot tell the languages apart from its states shows that it does not.
Sentences are rows of word vectors, and the letters of each different word once. `WordHead` is a
head of `--task cross_lingual_transfer`, which brings the files' format, the checks, the counts and
the scores, with a scheme of tags; tags are decoded by the model.

B sentences, N words or positions, T different words among them, C letters, D width.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.data.batch import pad_rows
from fairseq_xling.data.sampling import permute
from fairseq_xling.models.tagging.model import FIRST, PAD, UNKNOWN, Part
from fairseq_xling.tasks.dataset import EpochDataset, ItemDataset
from fairseq_xling.tasks.encode import Encoded
from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, find_labels, heads
from fairseq_xling.tasks.heads.tagging import Tagger
from fairseq_xling.tasks.spans import SCHEMES
from fairseq_xling.tasks.word_vectors import Lexicon

LONGEST = 40  # letters of a word that are read


class Spelling:
    """Letters as numbers; each different word is spelt once."""

    def __init__(self, letters: Iterable[str]):
        self._letters = {letter: number for number, letter in enumerate(letters, start=FIRST)}
        self._numbers: dict[str, int] = {}
        self._forms: list[np.ndarray] = []

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The number of each word among those seen so far."""
        words = list(words)
        for word in words:
            if word not in self._numbers:
                self._numbers[word] = len(self._forms)
                letters = [self._letters.get(letter, UNKNOWN) for letter in word[:LONGEST]]
                self._forms.append(np.array(letters, dtype=np.int64))
        return [self._numbers[word] for word in words]

    def forms(self, numbers: np.ndarray) -> torch.Tensor:
        """The letters (T, C) of words by number."""
        return pad_rows([self._forms[number] for number in numbers], PAD)


class WordCodec:
    """The words of one language as ids; with `Spelling`, all that a sentence is read as."""

    vectors = None  # those of words are the model's own

    def __init__(self, lang: str, words: Iterable[str], spelling: Spelling):
        self.lang, self.spelling, self._lexicon = lang, spelling, Lexicon(words)

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """(2, N) int32: rows of the table, and numbers of the spelling."""
        return np.array([self._lexicon.rows(words), self.spelling.numbers(words)], dtype=np.int32)

    def report(self) -> None:
        """Nothing is cut, so there is nothing to report of a file's items."""


def make_part(
    lang: int,
    spelling: Spelling,
    sentences: Sequence[np.ndarray],
    tags: Sequence[np.ndarray] | None = None,
) -> Part:
    """The part of a batch, of `WordCodec.encode`'s arrays and tags (N,) each."""
    used, inverse = np.unique(np.concatenate([s[1] for s in sentences]), return_inverse=True)
    lengths = [s.shape[1] for s in sentences]
    part = {
        "lang": lang,
        "words": pad_rows([s[0] for s in sentences], 0).long(),
        "lengths": torch.tensor(lengths),
        "forms": spelling.forms(used),
        "form": pad_rows(np.split(inverse, np.cumsum(lengths)[:-1]), 0).long(),
    }
    if tags is not None:
        part["tag"] = pad_rows(tags, IGNORE).long()
    return part


def read_text(path: str | Path) -> Iterable[list[str]]:
    """The words of each line that is not empty."""
    empty = True
    for line in read_sentences(path):
        if words := line.split():
            empty = False
            yield words
    if empty:
        raise UserError(f"{path}: contains no sentences")


class Text:
    """Unlabelled sentences of one language, 8 bytes a word."""

    def __init__(self, lang: int, codec: WordCodec, path: str | Path):
        self._lang, self._spelling = lang, codec.spelling
        pieces, lengths = [], []
        for words in read_text(path):
            pieces.append(codec.encode(words))
            lengths.append(len(words))
        self._ids = np.concatenate(pieces, axis=1)
        self._ends = np.cumsum(lengths)
        self.sizes = np.array(lengths, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.sizes)

    def part(self, indices: Sequence[int]) -> Part:
        """These sentences."""
        chosen = [self._ids[:, self._ends[i] - self.sizes[i] : self._ends[i]] for i in indices]
        return make_part(self._lang, self._spelling, chosen)


def word_head(name: str) -> type[Tagger]:
    """The head of that name, if it tags words."""
    fitting = [known for known in heads if issubclass(heads[known], Tagger)]
    if name not in fitting:
        raise unknown_name("`--head` of a tagger", name, fitting)
    return heads[name]  # type: ignore[return-value]


def find_tags(name: str, scheme: str, items: Iterable[TaggedItem]) -> list[str]:
    """The tags that the network predicts, from those of the training items."""
    kind, items = word_head(name), list(items)
    for item in items:
        kind.check(item)
    found = find_labels(kind, items).get("tag", [])
    return SCHEMES[scheme].tags(found) if kind.spans else found


class WordHead:
    """A head whose tags are of a scheme; what `Predictor` and `ItemDataset` need of one.

    Args:
        name: of the head.
        tags: those of the scheme, in the order that numbers them.
    """

    fills: Mapping[str, int] = {"tag": IGNORE}

    def __init__(self, name: str, scheme: str, tags: Sequence[str]):
        kind = word_head(name)
        if not kind.spans and scheme != "bio":
            raise UserError(f"`--scheme {scheme}` is of spans, got `--head {name}`")
        self.scheme, self.tags = SCHEMES[scheme], list(tags)
        files = self.scheme.decode(self.tags) if kind.spans else self.tags
        self._head: Head = kind({"tag": list(dict.fromkeys(files))})
        self._numbers = {tag: number for number, tag in enumerate(self.tags)}
        self._spans = kind.spans
        self.count_names, self.scores = kind.count_names, kind.scores
        self.annotated, self.counts = kind.annotated, self._head.counts
        self.labels_of, self.numbers = kind.labels_of, self._head.numbers
        self.metric, self.format, self.options = kind.metric, kind.format, self._head.options

    def encode(self, item: TaggedItem, codec: WordCodec) -> Encoded:
        """The ids of a sentence, and the numbers of its tags."""
        self._head.check(item)
        ids = codec.encode(item.words)
        tags = [IGNORE] * len(item.words)
        if item.tags is not None:
            names = self.scheme.encode(item.every_tag) if self._spans else item.every_tag
            tags = [self._numbers.get(name, IGNORE) for name in names]
        return Encoded([ids[0]], [], {"ids": ids, "tag": np.array(tags)})

    def decode(self, outputs: Fields, fields: Any) -> list[list[str]]:
        """The tags of each sentence as the files have them, from ``tags`` (B, N) by the model."""
        found = []
        lengths = outputs["lengths"].tolist()
        for row, length in zip(outputs["tags"].tolist(), lengths, strict=True):
            names = [self.tags[number] for number in row[:length]]
            found.append(self._head.finish(self.scheme.decode(names) if self._spans else names))
        return found


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


class Together(EpochDataset):
    """Batches of as many sentences of each stream; the smaller ones repeat.

    An epoch is the larger stream once, or ``epoch_sentences`` of each. Which sentences, and in
    which order, depends on the seed and the epoch alone. Each stream goes through its sentences in
    its own order, those near each other sorted by length.
    """

    def __init__(self, streams: Sequence[Text | Sentences], seed: int, epoch_sentences: int = 0):
        self.streams, self.seed = streams, seed
        self.length = epoch_sentences or max(map(len, streams))
        self._rows: list[np.ndarray] = []

    def __len__(self) -> int:
        return self.length

    def num_tokens(self, index: int) -> int:
        return 1  # of fairseq's own batches, which are not used

    size = num_tokens

    def ordered_indices(self) -> np.ndarray:
        return np.arange(self.length)

    def batch_by_size(
        self,
        indices: np.ndarray,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        required_batch_size_multiple: int = 1,
    ) -> list[np.ndarray]:
        """Batches of ``max_sentences`` of each stream."""
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


def pooled(states: Tensor, lengths: Tensor) -> Tensor:
    """The mean (B, D) over the real positions of ``states`` (B, N, D).

    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """
    inside = (torch.arange(states.shape[1], device=lengths.device) < lengths[:, None])[..., None]
    return states.masked_fill(~inside, 0).sum(1) / lengths[:, None]


def fresh_accuracy(source: np.ndarray, target: np.ndarray, seed: int = 0) -> float:
    """The accuracy of a new logistic regression of the language on vectors that it has not seen.

    Of each language as many sentences are drawn, and half of them are learnt from, so chance
    is 0.5. Vectors are taken as they are, with the usual penalty (C = 1): scaled to equal spread,
    a difference far below that of the sentences' contents would count as much as any other.

    Args:
        source, target: (B, D), one row for a sentence of that language.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    half = min(len(source), len(target)) // 2
    sides = [rows[rng.permutation(len(rows))[: 2 * half]] for rows in (source, target)]
    learn = np.concatenate([side[:half] for side in sides])
    test = np.concatenate([side[half:] for side in sides])
    labels = np.repeat([0, 1], half)
    return float(LogisticRegression(max_iter=1000).fit(learn, labels).score(test, labels))
