"""The progress bars of long work, on standard error."""

import sys

from tqdm import tqdm


def progress(total: float | None, what: str, unit: str = "B", done: int = 0) -> tqdm:
    """A bar towards ``total``; in a log file it writes a line now and then instead of many."""
    return tqdm(
        total=total,
        desc=what,
        initial=done,
        unit=unit,
        unit_scale=unit == "B",
        file=sys.stderr,
        mininterval=0.2 if sys.stderr.isatty() else 5.0,
        dynamic_ncols=sys.stderr.isatty(),
    )
