"""Micro-averaged precision, recall and F1 of labelled pairs, without `NONE`."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairseq_xling.structures.sentence import NONE


@dataclass(frozen=True)
class Scores:
    """Counts over all candidates of a file.

    Attributes:
        right: candidates with a label other than `NONE` that is predicted.
        predicted, gold: candidates whose prediction, and whose annotation, is not `NONE`.
    """

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """In [0, 1]; 0 if nothing is predicted."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """In [0, 1]; 0 if nothing is annotated."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """In [0, 1]; 0 if nothing is right."""
        return 2 * self.right / (self.predicted + self.gold) if self.right else 0.0

    def values(self) -> dict[str, float]:
        """All of it, for a file of results."""
        names = ("precision", "recall", "f1", "right", "predicted", "gold")
        return {name: getattr(self, name) for name in names}


def micro_scores(predicted: Sequence[str], gold: Sequence[str]) -> Scores:
    """The scores of ``predicted`` labels.

    >>> found = micro_scores(["A", "B", "NONE"], ["A", "NONE", "C"])
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    return Scores(
        sum(one == other != NONE for one, other in zip(predicted, gold, strict=True)),
        sum(one != NONE for one in predicted),
        sum(one != NONE for one in gold),
    )
