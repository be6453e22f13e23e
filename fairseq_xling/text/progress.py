"""The progress bars of long work, on standard error."""

import sys

from tqdm import tqdm


def progress(total: float | None, what: str, unit: str = "B", checks: bool = False) -> tqdm:
    """A bar towards ``total``; in a log file it is rewritten now and then instead of constantly.

    A bar of ``checks`` shows up only where they take long, and vanishes at their end, so that
    what they find stands alone.
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
        delay=2.0 if checks else 0.0,
    )
