"""Micro precision, recall and F1 of labels, over all examples and labels together.

N examples, C labels.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """Figures in [0, 1] with their counts; 0/0 is 0.

    Attributes:
        right: predicted labels that are gold; predicted, gold: all of each.
    """

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """``2 right / (predicted + gold)``, the harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.right / total if total else 0.0

    def values(self) -> dict[str, float]:
        """All of it, for a file of results."""
        names = ("precision", "recall", "f1", "right", "predicted", "gold")
        return {name: getattr(self, name) for name in names}


def micro_scores(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> Scores:
    """The scores of N predictions; gold labels that were not predicted are missed.

    >>> found = micro_scores([["a", "b"], [], ["a"]], [["a"], ["c"], ["a"]])
    >>> found.right, found.predicted, found.gold, round(found.f1, 3)
    (2, 3, 3, 0.667)
    """
    pairs = list(zip(predicted, gold, strict=True))
    right = sum(len({*ours} & {*theirs}) for ours, theirs in pairs)
    return Scores(right, sum(len(x) for x, _ in pairs), sum(len(x) for _, x in pairs))


def prior(labels: Sequence[Sequence[str]]) -> str:
    """The most frequent label, the majority-class baseline; of equally frequent ones the first by
    name.

    >>> prior([["b"], ["a"], ["b", "a"]])
    'a'
    """
    counts = Counter(label for some in labels for label in some)
    return min(counts, key=lambda label: (-counts[label], label))
