"""Differences of two rows of figures that share their seeds, with a paired test."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

LEVEL = 0.95  # of the interval
SHOWN_LEVEL = f"{LEVEL:.0%}".replace("%", " %")


def paired_difference(better: Sequence[float], worse: Sequence[float]) -> dict[str, Any]:
    """The mean of ``better`` - ``worse``, one figure of each for every seed.

    ``p`` is that of a two-sided paired t-test, ``low`` and ``high`` are the ends of the mean's
    interval at `LEVEL` by the same distribution; all three are None with one seed or equal
    differences.

    >>> found = paired_difference([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])
    >>> found["gaps"], found["mean"], round(found["p"], 3)
    ([2.0, 3.0, 1.0], 2.0, 0.074)
    >>> round(found["low"], 2), round(found["high"], 2)
    (-0.48, 4.48)
    """
    gaps = [a - b for a, b in zip(better, worse, strict=True)]
    found = {"gaps": gaps, "mean": statistics.fmean(gaps), "low": None, "high": None, "p": None}
    # Shares that differ by as much in every seed have gaps that differ by rounding alone.
    rounding = 1e-9 * max(map(abs, [*better, *worse]))
    if len(gaps) > 1 and max(gaps) - min(gaps) > rounding:
        from scipy.stats import ttest_rel

        test = ttest_rel(better, worse)
        interval = test.confidence_interval(LEVEL)
        found |= {"low": float(interval.low), "high": float(interval.high)}
        found |= {"p": float(test.pvalue)}
    return found


def shown_p(p: float) -> str:
    """A probability with three decimals, or that it is below them.

    >>> shown_p(0.0426), shown_p(0.0002)
    ('= 0.043', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def in_words(found: Mapping[str, Any], unit: str = "points", digits: int = 1) -> str:
    """For a note, with so many ``digits`` after the point; ``unit`` may be empty.

    >>> in_words({"gaps": [1.0], "mean": 1.0, "low": None, "high": None, "p": None})
    '+1.0 points'
    >>> in_words({"gaps": [1.0, 2.0, 3.0], "mean": 2.0, "low": -0.48, "high": 4.48, "p": 0.074})
    '+2.0 points (95 % interval -0.5 to +4.5), paired t-test over 3 seeds: p = 0.074'
    """
    text = f"{found['mean']:+.{digits}f} {unit}".rstrip()
    if found["p"] is None:
        return text
    return (
        f"{text} ({SHOWN_LEVEL} interval {found['low']:+.{digits}f} to "
        f"{found['high']:+.{digits}f}), paired t-test "
        f"over {len(found['gaps'])} seeds: p {shown_p(found['p'])}"
    )
