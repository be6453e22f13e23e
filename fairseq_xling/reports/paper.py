"""Figures at the width of a paper's column or page: how large they and their letters are.

A figure is drawn for a page of its own unless it is drawn inside of `paper`. There its letters have
8 points, panels that have no room side by side are below each other, and `fit` makes room for all
that is written: what is longer than its axis is wrapped, legends are moved below their axes, labels
that would overlap are turned or left out, and the figure becomes taller where its rows need it.
There lengths are in pixels of the figure unless they say inches.
"""

import contextlib
import contextvars
import itertools
import textwrap
import warnings
from collections.abc import Iterator, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

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
_NAMES = 0.4  # of the figure, the most that names of rows may take
_LEAST = 5  # points, of a letter
_LINES = 3  # at most, of the label of a y axis
_LOW = 0.4  # inches, of axes that are too low
_TRIES = 5
_BELOW = "below"  # the id of legends that were moved
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


def fit(figure: Figure) -> None:
    """Inside of `paper`, make room for everything that is written in ``figure``."""
    if not on_paper():
        return
    axes = [axis for axis in figure.axes if axis.get_visible()]
    for axis in axes:
        if axis.get_legend() and axis.get_legend().get_gid() != _BELOW:
            axis.get_legend().set_in_layout(False)  # until it is moved
    for _ in range(2):  # what is wrapped takes room from the axes
        _is_laid_out(figure)
        for axis in axes:
            _wrap_names(axis)
            _wrap_labels(axis)
        for legend in figure.legends:
            _wrap_legend(legend, figure.bbox.width)
        _lay_out(figure)
        for axis in axes:
            _wrap_labels(axis)
            _part_columns(axis)
        _lay_out(figure)
        _grow(figure, _move_legends(axes))
        _lay_out(figure)
        _grow(figure, max(map(_missing, axes), default=0.0))
        _lay_out(figure)
    for axis in axes:
        _clear_cells(axis)


def _lay_out(figure: Figure) -> None:
    """Make ``figure`` taller until its axes have room next to all that is written around them."""
    for _ in range(_TRIES):
        if _is_laid_out(figure):
            return
        _grow(figure, 0.3 * figure.get_figheight())


def _is_laid_out(figure: Figure) -> bool:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        figure.get_layout_engine().execute(figure)
    low = min((axis.get_window_extent().height for axis in figure.axes), default=figure.dpi)
    return low > _LOW * figure.dpi and not any("collapsed" in str(one.message) for one in found)


def _grow(figure: Figure, inches: float) -> None:
    if inches > 0:
        figure.set_figheight(figure.get_figheight() + inches)


def _wrap(text: str, share: float) -> str:
    """``text`` in lines of at most ``share`` of its own width; mathematics stay as they are."""
    if share >= 1 or "$" in text:
        return text
    lines = text.split("\n")
    most = max(4, int(share * max(map(len, lines))))
    return "\n".join(itertools.chain(*(_evenly(line, most) for line in lines)))


def _evenly(line: str, most: int) -> list[str]:
    """Lines of at most ``most`` letters: as few as there can be, and about as long."""
    found = textwrap.wrap(line, most, break_long_words=False)
    while most > 1 and len(
        narrower := textwrap.wrap(line, most - 1, break_long_words=False)
    ) == len(found):
        found, most = narrower, most - 1
    return found


def _shorten(text: Text, room: float, length: float) -> None:
    if text.get_text() and length > room:
        text.set_text(_wrap(text.get_text(), room / length))


def _wrap_labels(axis: Axes) -> None:
    """Title and label of the x axis are no wider than it, that of the y axis has few lines."""
    box = axis.get_window_extent()
    for text in (axis.title, axis.xaxis.label):
        _shorten(text, box.width, text.get_window_extent().width)
    label = axis.yaxis.label
    length = label.get_window_extent().height
    _shorten(label, max(box.height, length / _LINES), length)


def _wrap_names(axis: Axes) -> None:
    """Names of rows take at most `_NAMES` of the figure, in each row of panels together."""
    texts = _names(axis.get_yticklabels())
    beside = [one for one in axis.figure.axes if _row(one) == _row(axis)]
    named = sum(bool(_names(one.get_yticklabels())) for one in beside if one.get_subplotspec())
    room = _NAMES * axis.figure.bbox.width / max(1, named)
    if any(text.get_window_extent().width > room for text in texts):
        shares = [room / max(1, text.get_window_extent().width) for text in axis.get_yticklabels()]
        names = [text.get_text() for text in axis.get_yticklabels()]
        axis.set_yticks(axis.get_yticks(), list(map(_wrap, names, shares)))


def _names(labels: Sequence[Text]) -> list[Text]:
    """Those labels that are drawn."""
    return [text for text in labels if text.get_visible() and text.get_text()]


def _row(axis: Axes) -> int:
    """The row of panels that ``axis`` is in."""
    place = axis.get_subplotspec()
    return place.rowspan.start if place else 0


def _part_columns(axis: Axes) -> None:
    """Labels below the x axis do not overlap: numbers are left out, names are turned."""
    texts = axis.get_xticklabels()
    shown = sorted(_names(texts), key=lambda text: text.get_window_extent().x0)
    boxes = [text.get_window_extent() for text in shown]
    gap = matplotlib.rcParams["font.size"] / 4 * axis.figure.dpi / 72
    tight = any(a.x1 + gap > b.x0 for a, b in itertools.pairwise(boxes))
    if len(shown) < 2 or not (tight or shown[0].get_rotation()):
        return
    if all(text.get_text().replace(",", "").isdigit() for text in shown):
        kept, end = [], -gap
        for text, box in zip(shown, boxes, strict=True):
            if box.x0 >= end + gap:
                kept.append(text)
                end = box.x1
        names = [text.get_text() if text in kept else "" for text in texts]
        axis.set_xticks(axis.get_xticks(), names)
        return
    ticks = axis.transData.transform([(x, 0) for x in axis.get_xticks()])[:, 0]
    apart = min(abs(b - a) for a, b in itertools.pairwise(ticks)) * 72 / axis.figure.dpi
    upright = 0.64 * apart < points(LETTERS)  # the sine of 40 degrees
    for text in texts:
        text.set(rotation=90 if upright else 40, ha="right", rotation_mode="anchor")
        if upright:
            text.set(va="center", fontsize=max(_LEAST, min(apart, text.get_fontsize())))


def _move_legends(axes: Sequence[Axes]) -> float:
    """Legends of axes below them; returns the inches that those of all rows of panels take."""
    heights: dict[int, float] = {}
    for axis in axes:
        legend = axis.get_legend()
        if legend is None:
            continue
        moved = legend.get_gid() == _BELOW
        box = axis.get_window_extent()
        drop = (box.y0 - axis.xaxis.get_tightbbox().y0) / axis.figure.dpi
        below = ScaledTranslation(0, -drop, axis.figure.dpi_scale_trans)
        handles, labels = axis.get_legend_handles_labels()
        size, room = points(8), _room(axis)
        for columns in range(min(3, len(labels)), 0, -1):
            new = axis.legend(
                handles,
                labels,
                loc="upper right",
                bbox_to_anchor=(1, 0),
                bbox_transform=axis.transAxes + below,
                borderaxespad=0.4,
                ncols=columns,
                fontsize=size,
            )
            if new.get_window_extent().width <= room:
                break
        else:
            _wrap_legend(new, room)
        new.set_gid(_BELOW)
        if not moved:
            height = new.get_window_extent().height / axis.figure.dpi
            heights[_row(axis)] = max(heights.get(_row(axis), 0.0), height)
    return sum(heights.values())


def _room(axis: Axes) -> float:
    """The width of an axis and of what is written on its left, in pixels: a legend that is wider
    would push the axis aside."""
    left = axis.yaxis.get_tightbbox()
    box = axis.get_window_extent()
    return box.x1 - min(left.x0 if left else box.x0, box.x0)


def _wrap_legend(legend: Legend, room: float) -> None:
    excess = legend.get_window_extent().width - room
    if excess > 0:
        widest = max(text.get_window_extent().width for text in legend.get_texts())
        for text in legend.get_texts():
            _shorten(text, 0.95 * (widest - excess), text.get_window_extent().width)


def _missing(axis: Axes) -> float:
    """The inches that the figure lacks for the names of the rows of ``axis`` and its label."""
    texts = _names(axis.get_yticklabels())
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0 + box.y1)
    height = axis.get_window_extent().height
    share = axis.yaxis.label.get_window_extent().height / height
    if len(boxes) > 1:
        apart = min(b.y0 + b.y1 - a.y0 - a.y1 for a, b in itertools.pairwise(boxes)) / 2
        share = max(share, 1.25 * max(box.height for box in boxes) / max(1, apart))
    place = axis.get_subplotspec()
    rows = place.get_gridspec().nrows if place else 1
    return max(0.0, rows * (share - 1) * height / axis.figure.dpi)


def _clear_cells(axis: Axes) -> None:
    """No numbers in the cells of a heat map that are too small for them."""
    for image in axis.images:
        rows, columns = image.get_array().shape[:2]
        box = axis.get_window_extent()
        cell = box.width / columns, box.height / rows
        sizes = [text.get_window_extent().size for text in axis.texts]
        if any(width > 0.98 * cell[0] or height > cell[1] for width, height in sizes):
            for text in list(axis.texts):
                text.remove()
