"""The heads: predictions from an encoder's states, from file to metric.

A head describes a task; it is not a module and has no weights. Its network, which has, is part of
the model. To add a head, add a file here.

B items, R rows (R = B where an item has one row), T tokens, D width.
"""

import logging
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.options import NoOptions
from fairseq_xling.core.ranges import BELOW_ONE
from fairseq_xling.core.registry import Registry
from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.conll import UNTAGGED
from fairseq_xling.tasks.items import Item
from fairseq_xling.tasks.options import HeadOptions, setting

logger = logging.getLogger(__name__)

IGNORE = -100  # a target excluded from the loss
_TELLING = 20  # labels of a file that are enough to see whether they are labels
Fields = Mapping[str, Tensor]


@dataclass(frozen=True)
class DropoutOptions(HeadOptions):
    """For linear heads: ``dropout`` on their input."""

    dropout: float = setting(0.1, BELOW_ONE)


class Head(ABC):
    """One kind of prediction.

    Args:
        labels: the labels that it can predict, by kind of label, in the order that numbers them.
        options: an ``Options`` of its class.
    """

    help: ClassVar[str]
    format: ClassVar[str]  # of its files
    metric: ClassVar[str]  # of `scores`; higher is better
    further: ClassVar[tuple[str, ...]] = ()  # others of `scores` that papers report with it
    count_names: ClassVar[tuple[str, ...]]  # of `counts`
    reads_tags: ClassVar[bool] = False  # whether `given_tags` has any
    fills: ClassVar[Mapping[str, int]] = {}  # padding of short fields, if not 0
    # Settings of models that were trained by 0.2.0 or older, where they differ from the defaults.
    older: ClassVar[Mapping[str, Any]] = {}
    Options: ClassVar[type] = NoOptions

    def __init__(self, labels: Mapping[str, Sequence[str]], options: Any = None):
        self.labels = {kind: list(names) for kind, names in labels.items()}
        self.options = options or self.Options()
        self.numbers = {
            kind: {name: number for number, name in enumerate(names)}
            for kind, names in self.labels.items()
        }

    @staticmethod
    def check(item: Item) -> None:
        """Reject an item whose annotation cannot be read; names file and line."""
        return None

    @classmethod
    @abstractmethod
    def labels_of(cls, item: Item) -> Mapping[str, Sequence[str]]:
        """The labels of an item, by kind, in the order of `Item.place_of`; unannotated, none."""

    @classmethod
    def inventory(cls, items: Sequence[Item], options: Any) -> Mapping[str, Sequence[str]]:
        """What else a head keeps of the training items, by kind, in the order that numbers it.

        Unlike the labels of `labels_of`, those of other files need not be among these.
        """
        return {}

    @classmethod
    def annotated(cls, item: Item) -> bool:
        """Whether the item can be counted; heads without labels override it."""
        return any(cls.labels_of(item).values())

    @classmethod
    def given_tags(cls, item: Item) -> Sequence[str]:
        """The parts of speech of an item's words, which a model without subwords may read."""
        raise NotImplementedError(cls.__name__)

    @abstractmethod
    def encode(self, item: Item, codec: Codec) -> Encoded:
        """The item as model input; targets only if it is annotated."""

    @abstractmethod
    def network(self, dim: int) -> nn.Module:
        """The network from states to outputs: ``network(states (R, T, D), fields) -> outputs``."""

    @abstractmethod
    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        """The summed loss and the number of its terms."""

    @abstractmethod
    def decode(self, outputs: Fields, fields: Fields) -> list[Any]:
        """B predictions, as the head's format represents them."""

    @abstractmethod
    def counts(self, item: Item, prediction: Any) -> Sequence[float]:
        """The contribution of one annotated item to the sums ``count_names``."""

    @classmethod
    @abstractmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        """Figures from the sums, percentages between 0 and 100."""

    def number(self, kind: str, name: str) -> int:
        """The number of a label, or `IGNORE` if training had none of this name."""
        return self.numbers[kind].get(name, IGNORE)


heads: Registry[type[Head]] = Registry(
    "`--head`", __name__, needs=("help", "format", "metric", "count_names")
)


def find_labels(
    head: type[Head], items: Iterable[Item], options: Any = None
) -> dict[str, list[str]]:
    """All labels of ``items`` by kind, sorted, and the head's inventory of them.

    Raises:
        UserError: for an item that lacks what the head's ``options`` need; names file and line.
            Also where most labels occur once, so that another column was read as labels.
    """
    items, found = list(items), defaultdict(set)
    totals: Counter[str] = Counter()
    for item in items:
        for kind, names in head.labels_of(item).items():
            found[kind] |= {*names} - {UNTAGGED}
            totals[kind] += len(names)
    for kind, total in totals.items():
        if total >= _TELLING and 2 * len(found[kind]) > total:
            raise UserError(
                f"{items[0].path}: {kind}s must occur more than once, got {len(found[kind])} "
                f"different ones of {total}, such as {shown(min(found[kind]))}; choose their "
                "column with `--columns`"
            )
    labels = {kind: sorted(names) for kind, names in sorted(found.items())}
    more = head.inventory(items, options or head.Options())
    return {**labels, **{kind: list(names) for kind, names in more.items()}}


def check_labels(head: Head, items: Iterable[Item]) -> None:
    """Reject labels that the head cannot predict."""
    for item in items:
        for kind, names in head.labels_of(item).items():
            known = head.numbers.get(kind, {})
            for number, name in enumerate(names):
                if name not in known and name != UNTAGGED:
                    some = ", ".join(list(known)[:20]) + (", ..." if len(known) > 20 else "")
                    some = some or "it has no such labels"
                    raise UserError(
                        f"{item.place_of(number)}: {kind} {name!r} is not among those of the "
                        f"training file ({some}); `--unknown-labels wrong` counts these as "
                        f"mistakes"
                    )


def count_items(head: type[Head], option: str, path: Path, items: Iterable[Item]) -> int:
    """The number of items in a training or dev file; warns about unusable ones.

    Raises:
        UserError: if none is annotated; begins with ``option``.
    """
    count, bare, first = 0, 0, ""
    for item in items:
        count += 1
        if not head.annotated(item):
            bare, first = bare + 1, first or item.place
    if bare == count:
        raise UserError(f"`{option}` {path}: nothing in it is annotated")
    if bare:
        line = "%s: %d of %d items have no annotation to learn or count; the first is %s"
        logger.warning(line, path, bare, count, first)
    return count


def total_counts(head: Head, items: Iterable[Item], predictions: Iterable[Any]) -> dict[str, float]:
    """The sums of the items' counts, by name."""
    sums = [0.0] * len(head.count_names)
    for item, prediction in zip(items, predictions, strict=True):
        sums = [a + b for a, b in zip(sums, head.counts(item, prediction), strict=True)]
    return dict(zip(head.count_names, sums, strict=True))


def label_loss(logits: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
    """The summed cross-entropy of ``logits`` (..., K), and how many ``gold`` (...) are none of
    `IGNORE`."""
    flat = logits.flatten(0, -2), gold.flatten()
    total = F.cross_entropy(*flat, ignore_index=IGNORE, reduction="sum")
    return total, (gold != IGNORE).sum()


class LinearScores(nn.Module):
    """The parts of a network whose scores are linear in states, with dropout on these."""

    def __init__(self, dim: int, size: int, dropout: float):
        super().__init__()
        self.dropout, self.out = nn.Dropout(dropout), nn.Linear(dim, size)


def ratio(part: float, whole: float) -> float:
    """A percentage; 0 of nothing.

    >>> ratio(1, 4), ratio(0, 0)
    (25.0, 0.0)
    """
    return 100.0 * part / whole if whole else 0.0


def f1(right: float, predicted: float, gold: float) -> dict[str, float]:
    """Precision, recall and F1 as percentages.

    >>> f1(1, 2, 4)
    {'precision': 50.0, 'recall': 25.0, 'f1': 33.333333333333336}
    """
    precision, recall = ratio(right, predicted), ratio(right, gold)
    return {"precision": precision, "recall": recall, "f1": ratio(2 * right, predicted + gold)}
