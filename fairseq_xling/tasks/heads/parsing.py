"""Dependency parsing: deep biaffine scores, one tree for each sentence; also parts of speech.

Dozat and Manning (2017) on the states of first subwords, as in Conneau et al. (2020), "Emerging
Cross-lingual Structure", Section 3.2, and TreLM, Appendix A.6. The root is the state of the
sentence's first special symbol. UAS and LAS follow the evaluation of the CoNLL 2018 shared task:
the relations compared are the universal ones, ``nmod`` for ``nmod:poss``; the output has the full
relation. `parsing_pos` also has a linear classifier of each word's first subword for its UPOS;
files without parts of speech (``_``) teach it the tree alone.

B sentences, W words, N = W + 1 with the root as word 0, L label size, K relations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import BELOW_ONE, COUNT
from fairseq_xling.models.dropout import SharedDropout
from fairseq_xling.tasks.arcs import Perceptron, best_trees, chosen_scores, new_weight, pair_scores
from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.conllu import TaggedTree, Tree, TreeItem
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, heads, label_loss, ratio
from fairseq_xling.tasks.heads.tagging import encode_words, word_states
from fairseq_xling.tasks.options import HeadOptions, at_test, setting


@dataclass(frozen=True)
class ParsingOptions(HeadOptions):
    """Sizes of the perceptrons; ``punctuation`` counts (keep, as in CoNLL 2018) or not (drop).

    With drop, words tagged PUNCT are ignored; ``drop:PU,SYM`` names other tags.
    """

    arc_dim: int = setting(500, COUNT)
    label_dim: int = setting(100, COUNT)
    dropout: float = setting(0.33, BELOW_ONE)
    punctuation: str = at_test("keep")

    def __post_init__(self) -> None:
        super().__post_init__()
        policy, colon, tags = self.punctuation.partition(":")
        kept = policy in ("keep", "drop") and not colon
        if not kept and not (policy == "drop" and all(map(str.strip, tags.split(",")))):
            raise UserError(
                "`--head-options`: punctuation must be keep, drop or drop:TAG,TAG, got "
                f"{self.punctuation!r}"
            )

    @property
    def dropped(self) -> frozenset[str]:
        """The tags of words that are not counted.

        >>> sorted(ParsingOptions(punctuation="drop:PU,SYM").dropped)
        ['PU', 'SYM']
        """
        policy, _, tags = self.punctuation.partition(":")
        names = frozenset(tag.strip() for tag in tags.split(",")) if tags else frozenset({"PUNCT"})
        return names if policy == "drop" else frozenset()


@heads.register("parsing")
class Parsing(Head):
    """A head and a relation for each word."""

    help = "a tree of words: the head of each and its relation to it"
    format = "conllu"
    metric = "las"
    further = ("uas",)
    reads_tags = True
    count_names = ("heads", "relations", "words")
    fills: ClassVar[Mapping[str, int]] = {"head": IGNORE, "relation": IGNORE}
    Options = ParsingOptions

    @classmethod
    def labels_of(cls, item: TreeItem) -> Mapping[str, Sequence[str]]:
        return {"relation": item.tree.relations if item.tree else ()}

    @classmethod
    def given_tags(cls, item: TreeItem) -> Sequence[str]:
        return item.upos

    def encode(self, item: TreeItem, codec: Codec) -> Encoded:
        gold, relations = [IGNORE] * len(item.words), [IGNORE] * len(item.words)
        if item.tree:
            gold = list(item.tree.heads)
            relations = [self.number("relation", name) for name in item.tree.relations]
            if self.options.dropped and set(item.upos) == {"_"}:
                raise UserError(
                    f"{item.place}: dropping punctuation requires parts of speech, got '_'"
                )
        found = encode_words(item, codec, head=np.array(gold), relation=np.array(relations))
        for name in ("row", "place"):  # the first row begins with a special symbol: the root
            found.fields[name] = np.concatenate(([0], found.fields[name]))
        return found

    def network(self, dim: int) -> nn.Module:
        return _Arcs(dim, len(self.labels["relation"]), self.options)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        """The cross-entropies of heads, and of relations to the gold heads, added."""
        total, terms = label_loss(outputs["arcs"][:, 1:], fields["head"])
        scores = _relation_scores(outputs, fields["head"].clamp_min(0))
        return total + label_loss(scores, fields["relation"])[0], terms

    def decode(self, outputs: Fields, fields: Fields) -> list[Tree]:
        names = self.labels["relation"]
        found = best_trees(outputs["arcs"], fields["words"])
        best = _relation_scores(outputs, found).argmax(-1).tolist()
        return [
            Tree(tuple(arcs[:length]), tuple(names[number] for number in numbers[:length]))
            for arcs, numbers, length in zip(
                found.tolist(), best, fields["words"].tolist(), strict=True
            )
        ]

    def counts(self, item: TreeItem, prediction: Tree) -> Sequence[float]:
        if item.tree is None:
            return (0.0, 0.0, 0.0)
        dropped = self.options.dropped
        right = [
            (head == other, head == other and _universal(name) == _universal(given))
            for upos, head, name, other, given in zip(
                item.upos, *item.tree, *prediction, strict=True
            )
            if upos not in dropped
        ]
        return float(sum(a for a, _ in right)), float(sum(b for _, b in right)), float(len(right))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {
            "uas": ratio(sums["heads"], sums["words"]),
            "las": ratio(sums["relations"], sums["words"]),
        }


class _Arcs(nn.Module):
    def __init__(self, dim: int, relations: int, options: ParsingOptions):
        super().__init__()
        arc, label, dropout = options.arc_dim, options.label_dim, options.dropout
        self.dropout = SharedDropout(dropout)
        self.arc_dependent, self.arc_head = (Perceptron(dim, arc, dropout) for _ in range(2))
        self.dependent, self.head = (Perceptron(dim, label, dropout) for _ in range(2))
        # An arc's score has no term in the dependent alone, since all its heads would share it.
        self.arc_weight = new_weight(1, arc + 1, arc)
        self.relation_weight = new_weight(relations, label + 1, label + 1)

    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``arcs`` (B, N, N), dependents by heads, -inf at padding and at a word itself.

        Relations are scored only for chosen arcs, by the caller: here are only the
        ``dependents`` (B, N, L), ``heads`` (B, N, L) and the ``weight`` (K, L + 1, L + 1).
        """
        x = self.dropout(word_states(states, fields))
        arcs = pair_scores(self.arc_dependent(x), self.arc_weight, self.arc_head(x))[..., 0]
        place = torch.arange(x.shape[1], device=x.device)
        padding = place > fields["words"][:, None]
        arcs = arcs.masked_fill(padding[:, None] | (place == place[:, None]), -torch.inf)
        return {
            "arcs": arcs,
            "dependents": self.dependent(x),
            "heads": self.head(x),
            "weight": self.relation_weight,
        }


def _relation_scores(outputs: Fields, chosen: Tensor) -> Tensor:
    """The scores (B, W, K) of the relations of words to their ``chosen`` heads (B, W)."""
    governors = outputs["heads"]
    governors = governors.gather(1, chosen[..., None].expand(-1, -1, governors.shape[-1]))
    x, y = outputs["dependents"][:, 1:].flatten(0, 1), governors.flatten(0, 1)
    return chosen_scores(x, outputs["weight"], y).unflatten(0, chosen.shape)


def _universal(relation: str) -> str:
    return relation.partition(":")[0]


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
        return total + label_loss(outputs["tags"].float(), fields["tag"])[0], terms

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
