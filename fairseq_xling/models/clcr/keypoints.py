"""How well key-points are found: accuracy, precision, recall by language (CLCR, table 2).

Precision and recall are those of the class "key-point"; all are shares in [0, 1].
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

COUNTS = ("hit", "false", "missed", "right")  # true and false positives, false and true negatives


def confusion(kept: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Counts of tokens, by `COUNTS`, from what was kept and what should have been, (n,) bool."""
    return {
        "hit": (kept & labels).sum(),
        "false": (kept & ~labels).sum(),
        "missed": (~kept & labels).sum(),
        "right": (~kept & ~labels).sum(),
    }


def shares(counts: Mapping[str, float]) -> dict[str, float | None]:
    """Accuracy, precision and recall, and the accuracy of the majority class.

    None for a share of nothing.

    >>> shares({"hit": 6, "false": 2, "missed": 1, "right": 11})
    {'accuracy': 0.85, 'precision': 0.75, 'recall': 0.8571428571428571, 'majority': 0.65}
    """
    hit, false, missed, right = (float(counts[name]) for name in COUNTS)
    total = hit + false + missed + right
    return {
        "accuracy": _share(hit + right, total),
        "precision": _share(hit, hit + false),
        "recall": _share(hit, hit + missed),
        "majority": _share(max(hit + missed, false + right), total),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


SHARES = ("accuracy", "precision", "recall", "majority")
DOUBTS = ("entropy", "ambiguous")
HEADER = ("language", "delta", *SHARES, "key-points", "tokens", *DOUBTS)
_UNSURE = (0.2, 0.8)


def doubts(probabilities: Tensor) -> dict[str, Tensor]:
    """How ambiguous p(key-point) (n,) is, by `DOUBTS`: the sum of the binary entropies, in bits,
    and the number of words with .2 < p < .8, which are neither clear key-points nor clearly none.

    >>> found = doubts(torch.tensor([0.5, 0.9, 0.0]))
    >>> round(float(found["entropy"]), 4), int(found["ambiguous"])
    (1.469, 1)
    """
    p = probabilities.double()
    nats = torch.special.entr(p) + torch.special.entr(1 - p)
    low, high = _UNSURE
    return {"entropy": nats.sum() / math.log(2), "ambiguous": ((p > low) & (p < high)).sum()}


def table_row(
    lang: str, delta: float, counts: Mapping[str, float], doubt: Mapping[str, float]
) -> Sequence[object]:
    """A line under `HEADER`: key-points are those that were kept; ``doubt`` are sums of `doubts`,
    which the line has as means."""
    numbers = {name: int(counts[name]) for name in COUNTS}
    total = sum(numbers.values())
    return [
        *(lang, float(delta), *shares(numbers).values()),
        *(numbers["hit"] + numbers["false"], total),
        *(_share(float(doubt[name]), total) for name in DOUBTS),
    ]
