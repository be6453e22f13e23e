"""Micro-averaged scores of labelled pairs, of which `NONE` is no label."""

from collections.abc import Sequence

from fairseq_xling.structures.sentence import NONE
from fairseq_xling.tasks.probing import scores
from fairseq_xling.tasks.probing.scores import Scores


def micro_scores(predicted: Sequence[str], gold: Sequence[str]) -> Scores:
    """The scores of ``predicted`` labels, one for each pair.

    >>> found = micro_scores(["A", "B", "NONE"], ["A", "NONE", "C"])
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    return scores.micro_scores(_labels(predicted), _labels(gold))


def majority(gold: Sequence[str]) -> str:
    """The most frequent label but `NONE`, which by itself scores 0; of equally frequent ones the
    first by name."""
    return scores.prior(_labels(gold))


def _labels(names: Sequence[str]) -> list[list[str]]:
    """The labels of each pair, at most one."""
    return [[name] if name != NONE else [] for name in names]
