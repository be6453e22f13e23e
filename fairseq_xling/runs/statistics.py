"""Figures over seeds."""

import statistics
from collections.abc import Sequence


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Mean and sample standard deviation over seeds.

    >>> mean_and_spread([0.1, 0.2, 0.3], 2), mean_and_spread([0.5], 3)
    ('0.20 ± 0.10', '0.500')
    """
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"
