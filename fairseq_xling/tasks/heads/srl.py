"""Semantic roles as dependencies: a role, or none, for each word in each predicate's frame.

Cai et al. (2018), "A Full End-to-End Semantic Role Labeler, Syntactic-agnostic Over
Syntactic-aware?", Section 2: a biaffine scorer over predicates and words, with "no role" as one of
the labels; its BiLSTM is the encoder here, as in TreLM, Appendix A.6. Predicates are
given. Precision, recall and F1 are over labelled arguments; the senses of predicates, which the
CoNLL-2009 scorer counts as further dependencies, are neither predicted nor counted.

B sentences, W words, P predicates, K roles; label 0 is none, and label k + 1 is role k.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.ranges import BELOW_ONE, COUNT
from fairseq_xling.tasks.biaffine import Perceptron, SharedDropout, new_weight, pair_scores
from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.conll09 import NONE, FramesItem, Roles
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, f1, heads
from fairseq_xling.tasks.heads.tagger import word_rows, word_states
from fairseq_xling.tasks.options import HeadOptions, setting


@dataclass(frozen=True)
class RolesOptions(HeadOptions):
    """Size of the perceptrons of predicates and of arguments, and dropout."""

    role_dim: int = setting(100, COUNT)
    dropout: float = setting(0.33, BELOW_ONE)


@heads.register("srl")
class SemanticRoles(Head):
    """A role or none for each predicate and word."""

    help = "the roles of words in the frames of given predicates"
    format = "conll09"
    metric = "f1"
    count_names = ("right", "predicted", "gold")
    fills: ClassVar[Mapping[str, int]] = {"role": IGNORE}
    Options = RolesOptions

    @classmethod
    def labels_of(cls, item: FramesItem) -> Mapping[str, Sequence[str]]:
        return {"role": [role for row in item.roles or () for role in row if role != NONE]}

    @classmethod
    def annotated(cls, item: FramesItem) -> bool:
        return bool(item.predicates) and item.roles is not None

    def encode(self, item: FramesItem, codec: Codec) -> Encoded:
        rows, row, place = word_rows(item, codec)
        roles = np.full((len(item.predicates), len(item.words)), IGNORE)
        for number, given in enumerate(item.roles or ()):
            roles[number] = [self._label(role) for role in given]
        fields = {
            "row": row,
            "place": place,
            "predicate": np.array(item.predicates, dtype=np.int64),
            "role": roles,
            "rows": np.array(len(rows)),
            "words": np.array(len(item.words)),
            "predicates": np.array(len(item.predicates)),
        }
        return Encoded(rows, [np.zeros_like(ids) for ids in rows], fields)

    def _label(self, role: str) -> int:
        if role == NONE:
            return 0
        number = self.number("role", role)
        return number if number == IGNORE else number + 1

    def network(self, dim: int) -> nn.Module:
        return _Frames(dim, len(self.labels["role"]), self.options)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        logits, gold = outputs["logits"].flatten(0, 2), fields["role"].flatten()
        total = F.cross_entropy(logits, gold, ignore_index=IGNORE, reduction="sum")
        return total, (gold != IGNORE).sum()

    def decode(self, outputs: Fields, fields: Fields) -> list[Roles]:
        names = [NONE, *self.labels["role"]]
        sizes = zip(fields["predicates"].tolist(), fields["words"].tolist(), strict=True)
        return [
            tuple(tuple(names[label] for label in row[:words]) for row in rows[:predicates])
            for rows, (predicates, words) in zip(
                outputs["logits"].argmax(-1).tolist(), sizes, strict=True
            )
        ]

    def counts(self, item: FramesItem, prediction: Roles) -> Sequence[float]:
        if item.roles is None:
            return (0.0, 0.0, 0.0)
        gold, found = arguments(item.roles), arguments(prediction)
        return float(len(gold & found)), float(len(found)), float(len(gold))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return f1(sums["right"], sums["predicted"], sums["gold"])


class _Frames(nn.Module):
    def __init__(self, dim: int, roles: int, options: RolesOptions):
        super().__init__()
        size, dropout = options.role_dim, options.dropout
        self.dropout = SharedDropout(dropout)
        self.predicate, self.argument = (Perceptron(dim, size, dropout) for _ in range(2))
        self.weight = new_weight(roles + 1, size + 1, size + 1)

    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``logits`` (B, P, W, K + 1)."""
        x = self.dropout(word_states(states, fields))
        chosen = fields["predicate"][..., None].expand(-1, -1, x.shape[-1])
        predicates = self.predicate(x.gather(1, chosen))
        return {"logits": pair_scores(predicates, self.weight, self.argument(x))}


def arguments(roles: Roles) -> set[tuple[int, int, str]]:
    """The arguments in the frames of a sentence: predicate, word, role.

    >>> sorted(arguments((("A0", "_"), ("_", "A1"))))
    [(0, 0, 'A0'), (1, 1, 'A1')]
    """
    return {
        (predicate, word, role)
        for predicate, row in enumerate(roles)
        for word, role in enumerate(row)
        if role != NONE
    }
