"""Dependency parsing and universal parts of speech from one model: text in, whole trees out.

As `parsing`, with a linear classifier of each word's first subword for its UPOS. Files without
parts of speech (``_``) teach the tree alone.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.conllu import TaggedTree, Tree, TreeItem
from fairseq_xling.tasks.heads import IGNORE, Fields, heads, ratio
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingOptions
from fairseq_xling.tasks.heads.tagger import word_states

_NO_TAG = "_"


@heads.register("parsing_pos")
class ParsingPos(Parsing):
    """A head, a relation and a part of speech for each word."""

    help = "a tree of words and their universal parts of speech, such as `struct --trees` needs"
    count_names = ("heads", "relations", "words", "right_tags", "tags")
    reads_tags = False  # they are predicted
    fills: ClassVar[Mapping[str, int]] = {**Parsing.fills, "tag": IGNORE}

    @classmethod
    def labels_of(cls, item: TreeItem) -> Mapping[str, Sequence[str]]:
        tags = item.upos if item.tree and _NO_TAG not in item.upos else ()
        return {**super().labels_of(item), "upos": tags}

    def encode(self, item: TreeItem, codec: Codec) -> Encoded:
        found = super().encode(item, codec)
        tags = [IGNORE if tag == _NO_TAG else self.number("upos", tag) for tag in item.upos]
        found.fields["tag"] = np.array(tags)
        return found

    def network(self, dim: int) -> nn.Module:
        return _Both(super().network(dim), dim, len(self.labels["upos"]), self.options)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        """The cross-entropies of heads, relations and tags, added."""
        total, terms = super().loss(outputs, fields)
        logits, gold = outputs["tags"].float().flatten(0, 1), fields["tag"].flatten()
        return total + F.cross_entropy(logits, gold, ignore_index=IGNORE, reduction="sum"), terms

    def decode(self, outputs: Fields, fields: Fields) -> list[TaggedTree]:
        names = self.labels["upos"]
        best = outputs["tags"].argmax(-1).tolist()
        return [
            TaggedTree(*tree, tuple(names[number] for number in numbers[: len(tree.heads)]))
            for tree, numbers in zip(super().decode(outputs, fields), best, strict=True)
        ]

    def counts(self, item: TreeItem, prediction: TaggedTree) -> Sequence[float]:
        pairs = zip(item.upos, prediction.upos, strict=True) if item.tree else ()
        known = [gold == tag for gold, tag in pairs if gold != _NO_TAG]
        tree = Tree(*prediction[:2])
        return (*super().counts(item, tree), float(sum(known)), float(len(known)))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {**super().scores(sums), "upos": ratio(sums["right_tags"], sums["tags"])}


class _Both(nn.Module):
    def __init__(self, arcs: nn.Module, dim: int, tags: int, options: ParsingOptions):
        super().__init__()
        self.arcs = arcs
        self.tagger = nn.Sequential(nn.Dropout(options.dropout), nn.Linear(dim, tags))

    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """The outputs of `parsing`, and ``tags`` (B, W, K), without the root."""
        tags = self.tagger(word_states(states, fields)[:, 1:])
        return {**self.arcs(states, fields), "tags": tags}
