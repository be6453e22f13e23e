"""Semantic roles as dependencies: a role, or none, for each word in each predicate's frame.

Cai et al. (2018), "A Full End-to-End Semantic Role Labeler, Syntactic-agnostic Over
Syntactic-aware?", Section 2: a biaffine scorer over predicates and words, with "no role" as one of
the labels; its BiLSTM is the encoder here, as in TreLM, Appendix A.6. Predicates are given.
Precision, recall and F1 are over labelled arguments: predicate, word, role.

With ``senses=yes`` the senses of predicates are predicted and counted as well. The labelled
semantic figures of the CoNLL-2009 shared task (Hajic et al. 2009, Section 2) count a dependency
from a root to each predicate, labelled with its sense. The sense is predicted by a softmax over the
PRED values that the predicate's lemma has in training; a lemma that training has not gets the most
frequent sense number.

B sentences, W words, P predicates, K roles; label 0 is none, and label k + 1 is role k. S pairs of
a lemma and a PRED, C pairs of the lemma that has most, D width.
"""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import BELOW_ONE, COUNT
from fairseq_xling.models.dropout import SharedDropout
from fairseq_xling.tasks.arcs import Perceptron, new_weight, pair_scores
from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.conll09 import NONE, Frames, FramesItem
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, f1, heads, label_loss
from fairseq_xling.tasks.heads.tagging import encode_words, word_states
from fairseq_xling.tasks.options import HeadOptions, setting

_ROOT = -1


class Senses(nn.Module):
    """A linear classifier of predicates (B, P, D), with only its ``candidates`` (B, P, C).

    Its weight (S, D + 1) begins with equal scores.
    """

    def __init__(self, dim: int, senses: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(senses, dim + 1))

    def forward(self, x: Tensor, candidates: Tensor) -> Tensor:
        """Scores (B, P, C), the lowest of their type where there is no candidate."""
        with torch.autocast(x.device.type, enabled=False):
            weight = F.embedding(candidates.clamp_min(0), self.weight).float()
            scores = torch.einsum("bpcd,bpd->bpc", weight, F.pad(x.float(), (0, 1), value=1.0))
        return scores.masked_fill(candidates < 0, torch.finfo(scores.dtype).min)


def arguments(frames: Frames) -> set[tuple[int, int, str]]:
    """The labelled dependencies of a sentence: predicate, word, role; root, predicate, sense.

    Senses are compared by their numbers, without zeros before them, as the shared task does.

    >>> sorted(arguments(Frames((("A0", "_"), ("_", "A1")))))
    [(0, 0, 'A0'), (1, 1, 'A1')]
    >>> sorted(arguments(Frames((("A0", "_"),), ("see.01",))))
    [(-1, 0, '1'), (0, 0, 'A0')]
    """
    found = {
        (predicate, word, role)
        for predicate, row in enumerate(frames.roles)
        for word, role in enumerate(row)
        if role != NONE
    }
    for predicate, number in enumerate(map(sense_number, frames.senses)):
        plain = number.isascii() and number.isdigit()
        found.add((_ROOT, predicate, number.lstrip("0") or "0" if plain else number))
    return found


def sense_number(pred: str) -> str:
    """What follows the lemma in a PRED.

    >>> sense_number("U.S.01"), sense_number("v-w41f1")
    ('01', 'v-w41f1')
    """
    return pred.rpartition(".")[2]


def check_senses(item: FramesItem) -> None:
    """Reject a sentence whose senses cannot be learned or counted; names file and line."""
    for predicate, lemma, sense in zip(item.predicates, item.lemmas, item.senses, strict=True):
        place = f"{item.path}:{item.line + predicate}"
        if lemma == NONE:
            raise UserError(f"{place}: `senses=yes` needs the predicate's PLEMMA or LEMMA, got '_'")
        if item.roles is not None and sense == NONE:
            raise UserError(f"{place}: `senses=yes` needs the predicate's sense as PRED, got '_'")


@dataclass(frozen=True)
class RolesOptions(HeadOptions):
    """Size of the perceptrons of predicates and of arguments, dropout, and whether the senses of
    predicates are predicted and counted."""

    role_dim: int = setting(100, COUNT)
    dropout: float = setting(0.33, BELOW_ONE)
    senses: str = setting("no", choices=("no", "yes"))


@heads.register("srl")
class SemanticRoles(Head):
    """A role or none for each predicate and word."""

    help = "the roles of words in the frames of given predicates"
    format = "conll09"
    metric = "f1"
    reads_tags = True
    count_names = ("right", "predicted", "gold")
    fills: ClassVar[Mapping[str, int]] = {"role": IGNORE, "sense": IGNORE, "candidates": IGNORE}
    Options = RolesOptions

    @classmethod
    def labels_of(cls, item: FramesItem) -> Mapping[str, Sequence[str]]:
        return {"role": [role for row in item.roles or () for role in row if role != NONE]}

    @classmethod
    def inventory(
        cls, items: Sequence[FramesItem], options: RolesOptions
    ) -> Mapping[str, Sequence[str]]:
        """``sense``: the S pairs, a tab between, sorted; ``number``: the most frequent number."""
        if options.senses == "no":
            return {}
        pairs: set[tuple[str, str]] = set()
        numbers: Counter[str] = Counter()
        for item in filter(cls.annotated, items):
            check_senses(item)
            pairs.update(zip(item.lemmas, item.senses, strict=True))
            numbers.update(map(sense_number, item.senses))
        # Of equally frequent ones the first in the alphabet, whatever the order of the file.
        common = sorted(numbers, key=lambda number: (-numbers[number], number))[:1]
        return {"sense": ["\t".join(pair) for pair in sorted(pairs)], "number": common}

    @functools.cached_property
    def _by_lemma(self) -> dict[str, dict[str, int]]:
        """The numbers of each lemma's PRED values among the pairs of `inventory`."""
        found: dict[str, dict[str, int]] = {}
        for number, pair in enumerate(self.labels["sense"]):
            lemma, sense = pair.split("\t")
            found.setdefault(lemma, {})[sense] = number
        return found

    @classmethod
    def annotated(cls, item: FramesItem) -> bool:
        return bool(item.predicates) and item.roles is not None

    @classmethod
    def given_tags(cls, item: FramesItem) -> Sequence[str]:
        return item.tags

    def encode(self, item: FramesItem, codec: Codec) -> Encoded:
        roles = np.full((len(item.predicates), len(item.words)), IGNORE)
        for number, given in enumerate(item.roles or ()):
            roles[number] = [self._label(role) for role in given]
        fields = {
            "predicate": np.array(item.predicates, dtype=np.int64),
            "role": roles,
            "predicates": np.array(len(item.predicates)),
        }
        if self.options.senses == "yes":
            fields |= self._sense_fields(item)
        return encode_words(item, codec, **fields)

    def _sense_fields(self, item: FramesItem) -> dict[str, np.ndarray]:
        """``candidates`` (P, C), numbers of `_by_lemma`, and ``sense`` (P,), the gold place there.

        Both have `IGNORE` where there is none.
        """
        check_senses(item)
        found = [self._by_lemma.get(lemma, {}) for lemma in item.lemmas]
        candidates = np.full((len(found), max([1, *map(len, found)])), IGNORE)
        sense = np.full(len(found), IGNORE)
        for n, (numbers, gold) in enumerate(zip(found, item.senses, strict=True)):
            candidates[n, : len(numbers)] = list(numbers.values())
            if item.roles is not None and gold in numbers:
                sense[n] = list(numbers).index(gold)
        return {"candidates": candidates, "sense": sense}

    def _label(self, role: str) -> int:
        if role == NONE:
            return 0
        number = self.number("role", role)
        return number if number == IGNORE else number + 1

    def network(self, dim: int) -> nn.Module:
        senses = len(self.labels["sense"]) if self.options.senses == "yes" else None
        return _Frames(dim, len(self.labels["role"]), senses, self.options)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        """The cross-entropies of roles, and of senses, added."""
        total, terms = label_loss(outputs["logits"], fields["role"])
        if "senses" in outputs:
            total = total + label_loss(outputs["senses"], fields["sense"])[0]
        return total, terms

    def decode(self, outputs: Fields, fields: Fields) -> list[Frames]:
        names = [NONE, *self.labels["role"]]
        sizes = zip(fields["predicates"].tolist(), fields["words"].tolist(), strict=True)
        found = [
            tuple(tuple(names[label] for label in row[:words]) for row in rows[:predicates])
            for rows, (predicates, words) in zip(
                outputs["logits"].argmax(-1).tolist(), sizes, strict=True
            )
        ]
        return list(map(Frames, found, self._decode_senses(outputs, fields)))

    def _decode_senses(self, outputs: Fields, fields: Fields) -> list[tuple[str, ...]]:
        if "senses" not in outputs:
            return [()] * len(fields["predicates"])
        names = [pair.split("\t")[1] for pair in self.labels["sense"]]
        # The first candidate is missing only where all are: the lemma is not in training.
        names.append("." + self.labels["number"][0])
        best = outputs["senses"].argmax(-1, keepdim=True)
        chosen = fields["candidates"].gather(2, best)[..., 0].clamp_min(-1).tolist()
        sizes = fields["predicates"].tolist()
        return [
            tuple(names[number] for number in row[:size])
            for row, size in zip(chosen, sizes, strict=True)
        ]

    def counts(self, item: FramesItem, prediction: Frames) -> Sequence[float]:
        if item.roles is None:
            return (0.0, 0.0, 0.0)
        senses = item.senses if self.options.senses == "yes" else ()
        gold, found = arguments(Frames(item.roles, senses)), arguments(prediction)
        return float(len(gold & found)), float(len(found)), float(len(gold))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return f1(sums["right"], sums["predicted"], sums["gold"])


class _Frames(nn.Module):
    def __init__(self, dim: int, roles: int, senses: int | None, options: RolesOptions):
        super().__init__()
        size, dropout = options.role_dim, options.dropout
        self.dropout = SharedDropout(dropout)
        self.predicate, self.argument = (Perceptron(dim, size, dropout) for _ in range(2))
        self.weight = new_weight(roles + 1, size + 1, size + 1)
        self.senses = None if senses is None else Senses(dim, senses)

    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``logits`` (B, P, W, K + 1) and, if there are senses, ``senses`` (B, P, C)."""
        x = self.dropout(word_states(states, fields))
        chosen = x.gather(1, fields["predicate"][..., None].expand(-1, -1, x.shape[-1]))
        logits = pair_scores(self.predicate(chosen), self.weight, self.argument(x))
        if self.senses is None:
            return {"logits": logits}
        return {"logits": logits, "senses": self.senses(chosen, fields["candidates"])}
