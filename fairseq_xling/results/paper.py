"""Figures at the width of a paper's column or page: how large they and their letters are.

A figure is drawn for a page of its own unless it is drawn inside of `paper`. There its letters have
8 points, and panels that have no room side by side are below each other.
"""

import contextlib
import contextvars
from collections.abc import Iterator

import matplotlib

LETTERS = 10  # points, of a figure on a page of its own
_STYLE = {
    "font.size": 8,
    "axes.titlesize": "medium",
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.pad": 2.5,
    "ytick.major.pad": 2.5,
}
_width: contextvars.ContextVar[float | None] = contextvars.ContextVar("width", default=None)


@contextlib.contextmanager
def paper(width: float | None) -> Iterator[None]:
    """Figures drawn and saved inside are ``width`` inches wide; None: as wide as they like."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def style() -> dict[str, object]:
    """What differs inside of `paper` from the style of other figures."""
    return {} if _width.get() is None else dict(_STYLE)


def points(size: float) -> float:
    """The size of letters that have ``size`` points where the others have 10.

    >>> with matplotlib.rc_context({"font.size": 8}):
    ...     points(5)
    4.0
    """
    return size * matplotlib.rcParams["font.size"] / LETTERS


def size_of(width: float, height: float) -> tuple[float, float]:
    """The size of a figure, in inches: inside of `paper` of its width, with height in proportion.

    >>> with paper(3.3):
    ...     size_of(6.6, 4)
    (3.3, 2.0)
    """
    wanted = _width.get()
    return (width, height) if wanted is None else (wanted, height * wanted / width)


def side_by_side(columns: int, least: float) -> int:
    """How many of ``columns`` panels have room side by side if each needs ``least`` inches.

    >>> with paper(3.3):
    ...     side_by_side(2, least=2.5)
    1
    """
    wanted = _width.get()
    return columns if wanted is None else max(1, min(columns, int(wanted / least)))


def on_paper() -> bool:
    """Whether figures are drawn inside of `paper`."""
    return _width.get() is not None
