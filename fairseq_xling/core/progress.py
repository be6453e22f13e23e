"""Progress bars of long work, on standard error."""

import sys

from tqdm import tqdm


def progress(
    total: float | None, what: str, unit: str = "B", checks: bool = False, shown: bool = True
) -> tqdm:
    """A bar towards ``total``; in a log file it is rewritten occasionally instead of constantly.

    A bar of ``checks`` appears only if they take long, and disappears at their end, so that
    only their findings remain.
    """
    return tqdm(
        total=total,
        desc=what,
        unit=unit,
        unit_scale=unit == "B",
        file=sys.stderr,
        mininterval=0.2 if sys.stderr.isatty() else 5.0,
        dynamic_ncols=sys.stderr.isatty(),
        leave=not checks,
        disable=not shown,
        delay=2.0 if checks else 0.0,
    )


def clock(seconds: float) -> str:
    """A duration for people.

    >>> clock(7.3), clock(83), clock(3700)
    ('7 s', '1 min 23 s', '1 h 01 min')
    """
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
