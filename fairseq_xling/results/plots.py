"""Horizontal bars and heat maps, besides the lines and dots of `fairseq_xling.results.figures`.

Series of bars differ in colour and in hatching, so that they can also be distinguished in grey
print; the cells of a heat map have numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairseq_xling.results.figures import COLOURS, new_figure, styled
from fairseq_xling.results.paper import points, side_by_side
from fairseq_xling.results.statistics import OverSeeds

_HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "--")
_CHANCE = "#666666"


@dataclass(frozen=True)
class Bars:
    """One series: a bar for each name; None is drawn as nothing.

    ``spread`` are standard deviations over seeds, drawn as whiskers.
    """

    label: str
    values: Sequence[float | None]
    spread: Sequence[float | None] = ()


def over_seeds(label: str, cells: Sequence[OverSeeds | None]) -> Bars:
    """A series of means with their deviations, from the cells of a table."""
    means = [cell.mean if cell else None for cell in cells]
    return Bars(label, means, [cell.spread if cell else None for cell in cells])


@dataclass(frozen=True)
class BarPanel:
    """Horizontal bars, a group for each name, in one pair of axes.

    Attributes:
        xlabel: what is measured, with its unit.
        chance: height of a dotted line, with its label.
    """

    names: Sequence[str]
    series: Sequence[Bars]
    xlabel: str
    title: str = ""
    chance: tuple[float, str] | None = None


@styled
def draw_bars(panels: Sequence[BarPanel], columns: int = 2) -> Figure:
    """``panels`` side by side, ``columns`` in a row; names stand at the left of each row."""
    columns = side_by_side(min(columns, len(panels)), least=2.6)
    rows = -(-len(panels) // columns)
    most = max(len(panel.names) * (1 + 0.55 * (len(panel.series) - 1)) for panel in panels)
    longest = max((len(name) for panel in panels for name in panel.names), default=0)
    size = (0.07 * longest + 3.7 * columns, (1.5 + 0.3 * most) * rows)
    figure = new_figure(size)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for number, (axis, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        _draw_bars(axis, panel)
        same = number % columns and panel.names == panels[number - 1].names
        axis.tick_params(labelleft=not same)
    return figure


def _draw_bars(axis: Axes, panel: BarPanel) -> None:
    width = 0.8 / len(panel.series)
    for number, bars in enumerate(panel.series):
        drawn = [i for i, value in enumerate(bars.values) if value is not None]
        whiskers = [bars.spread[i] or 0 if i < len(bars.spread) else 0 for i in drawn]
        axis.barh(
            [i + (number - (len(panel.series) - 1) / 2) * width for i in drawn],
            [bars.values[i] for i in drawn],
            width,
            xerr=whiskers if any(whiskers) else None,
            color=COLOURS[number % len(COLOURS)],
            hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor="white",
            error_kw={"elinewidth": 1, "capsize": 2},
            label=bars.label,
        )
    if panel.chance is not None:
        axis.axvline(panel.chance[0], color=_CHANCE, linestyle=":", label=panel.chance[1])
    axis.set_yticks(range(len(panel.names)), panel.names)
    axis.set_ylim(len(panel.names) - 0.5, -0.5)  # a name has its place without a bar, too
    axis.grid(axis="y", visible=False)
    axis.set(xlabel=panel.xlabel, title=panel.title)
    if len(panel.series) > 1 or panel.chance is not None:
        # The distance from the axes is in font sizes: below the label, however tall they are.
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5}
        axis.legend(fontsize=points(8), ncols=2, **place)


_NUMBERED = 16  # rows or columns beyond which there is no room for numbers
_COLOURS = "cividis"  # its lightness is uniform, and nearly everyone sees blue and yellow


@styled
def draw_heat_map(
    matrix: Sequence[Sequence[float]],
    rows: Sequence[object],
    columns: Sequence[object],
    xlabel: str,
    ylabel: str,
    what: str,
    title: str = "",
) -> Figure:
    """``matrix[r][c]`` in [0, 1] or NaN, a cell that stays white; the first row at the bottom.

    Args:
        rows, columns: names of rows and columns.
        xlabel: of the columns; ylabel: of the rows.
        what: label of the colour scale.
    """
    size = (2.2 + 0.42 * max(4, len(columns)), 1.5 + 0.36 * max(4, len(rows)))
    figure = new_figure(size)
    axis = figure.subplots()
    draw_cells(axis, matrix, rows, columns, what)
    axis.set(xlabel=xlabel, ylabel=ylabel, title=title)
    return figure


def draw_cells(
    axis: Axes,
    matrix: Sequence[Sequence[float]],
    rows: Sequence[object],
    columns: Sequence[object],
    what: str,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    whole: bool = False,
    downwards: bool = False,
) -> None:
    """A heat map in ``axis`` with its colour scale; arguments as of `draw_heat_map`.

    Args:
        scale: the values of the darkest and the lightest colour.
        whole: whether values are whole numbers.
        downwards: whether the first row is at the top; long names of columns are then slanted.
    """
    low, high = scale
    image = axis.imshow(
        matrix,
        cmap=_COLOURS,
        vmin=low,
        vmax=high,
        origin="upper" if downwards else "lower",
        aspect="auto",
    )
    names = list(map(str, columns))
    slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    long = downwards and max(map(len, names), default=0) > 2
    axis.set_xticks(range(len(columns)), names, **(slanted if long else {}))
    axis.set_yticks(range(len(rows)), list(map(str, rows)))
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis, label=what)
    if max(len(rows), len(columns)) > _NUMBERED:
        return
    for r, values in enumerate(matrix):
        for c, value in enumerate(values):
            if math.isnan(value):
                continue
            colour = "white" if value < (low + high) / 2 else "black"
            text = (
                f"{value:+.0f}" if whole and low < 0 and value else f"{value:.{0 if whole else 2}f}"
            )
            text = text if whole else text.removeprefix("0")
            axis.text(c, r, text, ha="center", va="center", color=colour, fontsize=points(7))
