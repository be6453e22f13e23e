"""Correlation of two lists of figures."""

from collections.abc import Sequence

LEAST = 3  # points


def correlation(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Pearson's and Spearman's; None for fewer than three points, or if all are equal.

    >>> [round(value, 3) for value in correlation([1, 2, 3], [1, 2, 9])]
    [0.918, 1.0]
    >>> correlation([1, 2], [1, 2]), correlation([1, 1, 1], [1, 2, 3])
    (None, None)
    """
    if len(x) < LEAST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    from scipy import stats  # half a second, for which every page of results would wait

    return float(stats.pearsonr(x, y).statistic), float(stats.spearmanr(x, y).statistic)
