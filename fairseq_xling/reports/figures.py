"""Line, dot and scatter figures as SVG text, readable in print and by colour-blind readers.

Every line differs from the others in colour (Okabe and Ito's palette), dash and marker. Figures are
drawn without pyplot, and in a style of their own: a notebook that asks for one keeps its backend
and its settings.
"""

import contextlib
import dataclasses
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from fairseq_xling.reports.paper import (
    LETTERS,
    fit,
    points,
    side_by_side,
    size_of,
    style,
)

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_CHANCE = "#666666"
_MOST_TICKS, _MOST_FIGURES = 20, 40  # of an axis, and of their numbers together
# A label is right of its point first; then around it, and increasingly farther away, with a thin
# line back.
_DIRECTIONS = ((1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1), (0, 1), (0, -1))
_DISTANCES = (4, 11, 20, 30, 42)  # typographic points
_CROWD = 100  # beyond this many points, only those with room at their side are labelled
_MARK = 4  # half the side of a marker's box
_INSTALLED = {font.name for font in font_manager.fontManager.ttflist}
# A font for European letters, then those for others: a letter is drawn by the first that has it.
_FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei")
_NO_FONT = "Glyph .* missing"  # what matplotlib warns of

_STYLE = {
    "font.family": [name for name in (*_FONTS, "Arial Unicode MS") if name in _INSTALLED],
    "font.size": LETTERS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.hashsalt": "fairseq_xling",  # the same figure is the same file
    "figure.constrained_layout.use": True,
}


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    with warnings.catch_warnings(), matplotlib.rc_context(_STYLE | style()):
        warnings.filterwarnings("ignore", _NO_FONT, UserWarning)
        yield


# Decorates functions that draw or save: some parts of a figure are made only when it is saved.
styled = _styled()


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of `size_of` ``size``, in inches. For functions that are `styled`."""
    figure = Figure(figsize=size_of(*size))
    FigureCanvasSVG(figure)
    return figure


@dataclasses.dataclass(frozen=True)
class Line:
    """Points of one line; ``style`` selects colour, dash and marker, so that corresponding lines
    look the same in every panel. ``spread`` of each y is drawn as a band around it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int = 0
    marked: bool = True
    spread: Sequence[float] = ()


@dataclasses.dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        chance: height of a dotted line, with its label.
        chosen: place of a vertical line, with its label.
        log: whether the y axis is logarithmic.
        log_x: whether the x axis is, with a tick at each x.
        whole: whether x has only whole numbers, each of them a tick, or some of many.
    """

    lines: Sequence[Line]
    xlabel: str
    ylabel: str
    title: str = ""
    chance: tuple[float, str] | None = None
    chosen: tuple[float, str] | None = None
    log: bool = False
    log_x: bool = False
    whole: bool = False


@styled
def draw(panels: Sequence[Panel], columns: int = 2) -> Figure:
    """``panels`` side by side, ``columns`` in a row, above one legend; those with the same label of
    their y axis have the same range."""
    columns = side_by_side(min(columns, len(panels)), least=2.6)
    rows = -(-len(panels) // columns)
    figure = new_figure((4.6 * columns, 3.3 * rows))
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(axis, panel)
    same_range("y", axes.flat[: len(panels)])
    _common_legend(figure, 3)
    return figure


def same_range(name: str, axes: Iterable[Axes]) -> None:
    """Give axes whose label along ``name``, x or y, is the same the same range."""
    groups: dict[str, list[Axes]] = {}
    for axis in axes:
        groups.setdefault(getattr(axis, f"get_{name}label")(), []).append(axis)
    for group in groups.values():
        ends = [getattr(axis, f"get_{name}lim")() for axis in group]
        for axis in group:
            getattr(axis, f"set_{name}lim")(min(e[0] for e in ends), max(e[1] for e in ends))


def _common_legend(figure: Figure, columns: int) -> None:
    """A legend of at most ``columns`` columns, fewer where it would be wider than the figure."""
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    if len(handles) < 2:
        return  # the labels of the axes say it
    for number in range(min(columns, len(handles)), 0, -1):
        place = {"loc": "outside lower center", "ncols": number}
        legend = figure.legend(handles.values(), handles, fontsize=points(8), **place)
        if legend.get_window_extent().width <= figure.bbox.width or number == 1:
            return
        legend.remove()


def _draw_panel(axis: Axes, panel: Panel) -> None:
    for line in panel.lines:
        style = line.style % len(COLOURS)
        axis.plot(
            line.x,
            line.y,
            color=COLOURS[style],
            linestyle=_DASHES[style],
            marker=_MARKERS[style] if line.marked else None,
            label=line.label,
        )
        if len(line.spread):
            band = np.add(line.y, np.multiply([[-1], [1]], line.spread))
            axis.fill_between(line.x, *band, color=COLOURS[style], alpha=0.15, lw=0)
    if panel.chance is not None:
        axis.axhline(panel.chance[0], color=_CHANCE, linestyle=":", label=panel.chance[1])
    if panel.chosen is not None:
        axis.axvline(panel.chosen[0], color=_CHANCE, linewidth=1, label=panel.chosen[1])
    axis.set(xlabel=panel.xlabel, ylabel=panel.ylabel, title=panel.title)
    if panel.log:
        axis.set_yscale("log")
    else:
        # From 0, and with room for a marker above lines that are close together.
        low, high = axis.get_ylim()
        lowest = min((value for line in panel.lines for value in line.y), default=0)
        axis.set_ylim(min(0, low) if lowest < 0 else 0, max(1.04 * high, 0))
    places = sorted({round(x) for line in panel.lines for x in line.x})
    if panel.log_x:
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.minorticks_off()
    elif panel.whole and places:
        most = min(_MOST_TICKS, _MOST_FIGURES // max(len(str(place)) for place in places))
        axis.set_xticks(places[:: -(-len(places) // most)])


@dataclasses.dataclass(frozen=True)
class DotPanel:
    """One row of dots per name: single runs small, their mean large.

    ``values[i]`` are the runs of ``names[i]``; an empty list is drawn as nothing.
    """

    names: Sequence[str]
    values: Sequence[Sequence[float]]
    xlabel: str
    title: str = ""
    chance: tuple[float, str] | None = None


_MOST_SIDE_BY_SIDE = 3  # panels of dots: more are too small on a page


@styled
def draw_dots(panels: Sequence[DotPanel]) -> Figure:
    """``panels`` side by side, as many in each row, with common names on the left."""
    names = panels[0].names
    wrapped = -(-len(panels) // _MOST_SIDE_BY_SIDE)
    columns = side_by_side(-(-len(panels) // wrapped), least=1.6)
    rows = -(-len(panels) // columns)
    size = (0.5 + 0.075 * max(map(len, names)) + 3.6 * columns, (1.7 + 0.32 * len(names)) * rows)
    figure = new_figure(size)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        for row, values in enumerate(panel.values):
            if values:
                mean = sum(values) / len(values)
                axis.plot(values, [row] * len(values), ".", color=COLOURS[5], zorder=2)
                axis.plot([mean], [row], "D", color=COLOURS[0], zorder=3)
        axis.plot([], [], ".", color=COLOURS[5], label="one seed")
        axis.plot([], [], "D", color=COLOURS[0], label="mean")
        if panel.chance is not None:
            axis.axvline(panel.chance[0], color=_CHANCE, linestyle=":", label=panel.chance[1])
        axis.set(xlabel=panel.xlabel, title=panel.title)
        if min((value for values in panel.values for value in values), default=0) >= 0:
            axis.set_xlim(0, 1.05 * axis.get_xlim()[1])  # the largest mark whole
        axis.set_yticks(range(len(names)), names)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    same_range("x", axes.flat[: len(panels)])
    _common_legend(figure, 4)
    return figure


@dataclasses.dataclass(frozen=True)
class Points:
    """Points of one group, each labelled; ``style`` selects colour and marker."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    names: Sequence[str]
    style: int = 0


@styled
def draw_scatter(
    groups: Sequence[Points], xlabel: str, ylabel: str, title: str = "", whole: bool = False
) -> Figure:
    """All ``groups`` in one pair of axes, the legend below; with ``whole``, x is a count."""
    figure = new_figure((6.8, 5))
    axis = figure.subplots()
    for group in groups:
        # After as many groups as there are colours, each colour is combined with another marker.
        marker = (group.style + group.style // len(COLOURS)) % len(_MARKERS)
        axis.plot(
            group.x,
            group.y,
            _MARKERS[marker],
            color=COLOURS[group.style % len(COLOURS)],
            markeredgecolor="white",
            markersize=points(7),
            label=group.label,
        )
    axis.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axis.margins(0.08)
    if whole:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    _common_legend(figure, 3)
    fit(figure)
    x, y, names = (
        [value for group in groups for value in getattr(group, field)]
        for field in ("x", "y", "names")
    )
    place_labels(axis, x, y, names, points(8))
    return figure


@styled
def to_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element. Letters are drawn; if no font here has some of them, all
    are text, as whoever views it may have one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", _NO_FONT, UserWarning)
        try:
            svg = _saved(figure, "path")
        except UserWarning:
            warnings.filterwarnings("ignore", _NO_FONT, UserWarning)
            svg = _saved(figure, "none")
    return svg[svg.index("<svg") :]


def _saved(figure: Figure, letters: str) -> str:
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": letters}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def place_labels(
    axis: Axes, x: Sequence[float], y: Sequence[float], names: Sequence[str], size: float = 8
) -> list[Text]:
    """Write each of P names next to its point; the limits of ``axis`` must be final.

    Each gets the first place at which it covers neither a point nor another name and stays inside
    the axes; names without such a place are left out. Returns those that are drawn.
    """
    figure = axis.figure
    figure.draw_without_rendering()  # places are final before names are tried
    pixels = figure.dpi / 72
    points = axis.transData.transform(np.column_stack([x, y])).reshape(-1, 2)
    taken = np.hstack([points - _MARK * pixels, points + _MARK * pixels])
    window = axis.get_window_extent().extents
    distances = _DISTANCES if len(points) <= _CROWD else _DISTANCES[:1]
    texts = []
    for name, point, place in zip(names, points, zip(x, y, strict=True), strict=True):
        text = axis.annotate(
            name,
            place,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            arrowprops={"arrowstyle": "-", "linewidth": 0.7, "color": "#777777", "shrinkB": 3},
        )
        text.set_in_layout(False)  # else the axes would shrink under the points
        half = np.array(Text.get_window_extent(text).size) / 2  # without its line
        centres = point + _offsets(half, pixels, distances)
        boxes = np.hstack([centres - half, centres + half])
        free = _covered(boxes, taken) + _outside(boxes, window) < 1e-6
        if not free.any():
            text.remove()
            continue
        best = int(free.argmax())
        text.set_position((centres[best] - point) / pixels)
        text.arrow_patch.set_visible(best >= len(_DIRECTIONS))
        taken = np.vstack([taken, boxes[best]])
        texts.append(text)
    return texts


def _offsets(half: np.ndarray, pixels: float, distances: Sequence[float]) -> np.ndarray:
    """Candidate centres of a name of size ``2 * half``, relative to its point (C, 2)."""
    way = np.array(_DIRECTIONS, dtype=float)
    unit = way / np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([way * half + unit * distance * pixels for distance in distances])


def _covered(boxes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """How much of each of C boxes is covered by the K occupied ones (C,)."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    return (high - low).clip(min=0).prod(-1).sum(-1)


def _outside(boxes: np.ndarray, window: np.ndarray) -> np.ndarray:
    """How much of each of C boxes is outside of ``window`` (C,)."""
    whole = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return whole - _covered(boxes, window[None])
