"""Senses of predicates, from the PRED column of CoNLL-2009.

The labelled semantic figures of the CoNLL-2009 shared task (Hajic et al. 2009, Section 2) count a
dependency from a root to each predicate, labelled with its sense. The sense is predicted by a
softmax over the PRED values that the predicate's lemma has in training; a lemma that training has
not gets the most frequent sense number.

B sentences, P predicates, S pairs of a lemma and a PRED, C pairs of the lemma that has most, D
width.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conll09 import NONE, Frames, FramesItem

_ROOT = -1


def inventory(items: Iterable[FramesItem]) -> dict[str, list[str]]:
    """What is kept of the training items: two kinds of labels.

    Returns:
        ``sense``: the S pairs, a tab between, sorted; ``number``: the most frequent sense number.

    Raises:
        UserError: as `check_senses`.
    """
    pairs: set[tuple[str, str]] = set()
    numbers: Counter[str] = Counter()
    for item in items:
        check_senses(item)
        pairs.update(zip(item.lemmas, item.senses, strict=True))
        numbers.update(map(sense_number, item.senses))
    # Of equally frequent ones the first in the alphabet, whatever the order of the file.
    common = sorted(numbers, key=lambda number: (-numbers[number], number))[:1]
    return {"sense": ["\t".join(pair) for pair in sorted(pairs)], "number": common}


def by_lemma(pairs: Sequence[str]) -> dict[str, dict[str, int]]:
    """The numbers of each lemma's PRED values among the pairs of `inventory`.

    >>> by_lemma(["go\\tgo.01", "see\\tsee.01", "see\\tsee.02"])
    {'go': {'go.01': 0}, 'see': {'see.01': 1, 'see.02': 2}}
    """
    found: dict[str, dict[str, int]] = {}
    for number, pair in enumerate(pairs):
        lemma, sense = pair.split("\t")
        found.setdefault(lemma, {})[sense] = number
    return found


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

    Senses are compared by their numbers, as the shared task does.

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
    senses = enumerate(map(sense_number, frames.senses))
    return found | {(_ROOT, predicate, plain_number(number)) for predicate, number in senses}


def sense_number(pred: str) -> str:
    """What follows the lemma in a PRED.

    >>> sense_number("U.S.01"), sense_number("v-w41f1")
    ('01', 'v-w41f1')
    """
    return pred.rpartition(".")[2]


def plain_number(number: str) -> str:
    """A sense number without zeros before it; other names of senses are left unchanged.

    >>> plain_number("01"), plain_number("0x")
    ('1', '0x')
    """
    return number.lstrip("0") or "0" if number.isascii() and number.isdigit() else number


def check_senses(item: FramesItem) -> None:
    """Reject a sentence whose senses cannot be learned or counted; names file and line."""
    for predicate, lemma, sense in zip(item.predicates, item.lemmas, item.senses, strict=True):
        place = f"{item.path}:{item.line + predicate}"
        if lemma == NONE:
            raise UserError(f"{place}: `senses=yes` needs the predicate's PLEMMA or LEMMA, got '_'")
        if item.roles is not None and sense == NONE:
            raise UserError(f"{place}: `senses=yes` needs the predicate's sense as PRED, got '_'")
