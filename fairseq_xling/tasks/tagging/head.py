"""What is predicted for words: a head of `--task cross_lingual_transfer`, and a scheme of tags.

The head brings the files' format, the checks, the counts and the scores; tags are decoded by the
model.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name
from fairseq_xling.tasks.encode import Encoded
from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, find_labels, heads
from fairseq_xling.tasks.heads.tagger import Tagger
from fairseq_xling.tasks.tagging.scheme import SCHEMES
from fairseq_xling.tasks.tagging.sentences import WordCodec


def word_head(name: str) -> type[Tagger]:
    """The head of that name, if it tags words.

    Raises:
        UserError: for another one.
    """
    fitting = [known for known in heads if issubclass(heads[known], Tagger)]
    if name not in fitting:
        raise unknown_name("`--head` of a tagger", name, fitting)
    return heads[name]  # type: ignore[return-value]


def find_tags(name: str, scheme: str, items: Iterable[TaggedItem]) -> list[str]:
    """The tags that the network predicts, from those of the training items.

    Raises:
        UserError: for a malformed tag; names file and line.
    """
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
            names = self.scheme.encode(item.tags) if self._spans else item.tags
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
