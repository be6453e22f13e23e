"""Heads that tag words: linear on the state of a word's first subword.

Entities are BIO tags (Conneau et al., 2020, Section 3.2.2). B sentences, R rows, T tokens, W words,
D width, K tags. A sentence that is longer than the model's positions becomes several rows, cut
between words, so that every word gets a tag.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.tasks.encode import CUT, PIECES, Codec, Encoded
from fairseq_xling.tasks.formats.conll import UNTAGGED, TaggedItem
from fairseq_xling.tasks.heads import (
    IGNORE,
    DropoutOptions,
    Fields,
    Head,
    LinearScores,
    f1,
    heads,
    label_loss,
    ratio,
)
from fairseq_xling.tasks.spans import check_bio, count_spans, repair


class Tagger(Head):
    """A tag for each word."""

    format = "conll"
    fills: ClassVar[Mapping[str, int]] = {"tag": IGNORE}
    spans: ClassVar[bool] = False  # whether tags are those of spans, in BIO
    Options = DropoutOptions

    @staticmethod
    def finish(tags: list[str]) -> list[str]:
        """Predicted tags as they are written."""
        return tags

    @classmethod
    def labels_of(cls, item: TaggedItem) -> Mapping[str, Sequence[str]]:
        return {"tag": item.tags or ()}

    def encode(self, item: TaggedItem, codec: Codec) -> Encoded:
        self.check(item)
        tags = [IGNORE] * len(item.words)
        if item.tags is not None:
            tags = [self.number("tag", tag) for tag in item.tags]
        return encode_words(item, codec, tag=np.array(tags))

    def network(self, dim: int) -> nn.Module:
        return _Words(dim, len(self.labels["tag"]), self.options.dropout)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        return label_loss(outputs["logits"].float(), fields["tag"])

    def decode(self, outputs: Fields, fields: Fields) -> list[Any]:
        names = self.labels["tag"]
        best = outputs["logits"].argmax(-1).tolist()
        lengths = fields["words"].tolist()
        return [
            self.finish([names[number] for number in row[:length]])
            for row, length in zip(best, lengths, strict=True)
        ]


def scored(item: TaggedItem, prediction: Sequence[str]) -> tuple[list[str], list[str]]:
    """The given and the predicted tags of the words that have one."""
    pairs = [pair for pair in zip(item.tags or (), prediction, strict=True) if pair[0] != UNTAGGED]
    return [gold for gold, _ in pairs], [found for _, found in pairs]


class _Words(LinearScores):
    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``logits`` (B, W, K)."""
        return {"logits": self.out(self.dropout(word_states(states, fields)))}


def word_states(states: Tensor, fields: Fields) -> Tensor:
    """The states (B, W, D) of the words' first subwords, from those of all rows (R, T, D).

    >>> import torch
    >>> states = torch.arange(12.0).view(3, 4, 1)  # the first item has two rows
    >>> fields = {"rows": torch.tensor([2, 1]), "row": torch.tensor([[0, 1], [0, 0]])}
    >>> fields["place"] = torch.tensor([[1, 2], [3, 0]])
    >>> word_states(states, fields)[..., 0].tolist()
    [[1.0, 6.0], [11.0, 8.0]]
    """
    first = fields["rows"].cumsum(0) - fields["rows"]
    return states[first[:, None] + fields["row"], fields["place"]]


def word_rows(item: TaggedItem, codec: Codec) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The rows of a sentence's ids, and each word's row (W,) and position in it (W,).

    A word that is longer than a whole row is cut.

    Raises:
        UserError: for a sentence that does not fit into one row, if `Codec` refuses these.
    """
    room = codec.max_positions - 2
    words = codec.words(item.words)
    total = sum(map(len, words))
    if total > room:
        codec.note_long(item, total + 2, CUT if max(map(len, words)) > room else PIECES)
    rows: list[list[np.ndarray]] = [[]]
    number, place, used = [], [], 0
    for ids in words:
        ids = ids[:room]
        if used + len(ids) > room:
            rows.append([])
            used = 0
        number.append(len(rows) - 1)
        place.append(used + 1)
        rows[-1].append(ids)
        used += len(ids)
    framed = [np.concatenate(([CLS], *row, [SEP])) for row in rows]
    return framed, np.array(number), np.array(place)


def encode_words(item: Any, codec: Codec, **fields: np.ndarray) -> Encoded:
    """A sentence of ``words``; its fields have the place of each word, and these ``fields``."""
    rows, row, place = word_rows(item, codec)
    sizes = {"rows": np.array(len(rows)), "words": np.array(len(item.words))}
    segments = [np.zeros_like(ids) for ids in rows]
    return Encoded(rows, segments, {"row": row, "place": place, **sizes, **fields})


@heads.register("pos")
class Pos(Tagger):
    """A tag for each word."""

    help = "a tag for each word (parts of speech)"
    metric = "accuracy"
    count_names = ("right", "words")

    @staticmethod
    def check(item: TaggedItem) -> None:
        """Refuse ``_`` among tags, as tables made of treebanks give it to multiword tokens."""
        tags = item.tags or ()
        if "_" in tags and {*tags} != {"_"}:
            raise UserError(
                f"{item.place_of(tags.index('_'))}: each word must have a tag, got _; remove "
                "multiword tokens, whose words have tags of their own"
            )

    def counts(self, item: TaggedItem, prediction: Sequence[str]) -> Sequence[float]:
        gold, found = scored(item, prediction)
        return float(sum(a == b for a, b in zip(gold, found, strict=True))), float(len(gold))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {"accuracy": ratio(sums["right"], sums["words"])}


@heads.register("ner")
class Ner(Tagger):
    """Spans; predictions are repaired, the gold tags are used unchanged."""

    help = "spans of words as BIO tags (named entities)"
    metric = "f1"
    count_names = ("right", "predicted", "gold")
    spans = True
    check = staticmethod(check_bio)
    finish = staticmethod(repair)

    def counts(self, item: TaggedItem, prediction: Sequence[str]) -> Sequence[float]:
        return count_spans(*scored(item, prediction))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return f1(sums["right"], sums["predicted"], sums["gold"])


@heads.register("slots")
class Slots(Ner):
    """The same for the slots of an utterance (xSID)."""

    help = "spans of words as BIO tags (slots of an utterance)"
