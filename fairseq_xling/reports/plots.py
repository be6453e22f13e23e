"""Horizontal bars and heat maps, besides the lines and dots of `fairseq_xling.reports.figures`.

Series of bars differ in colour and in hatching, so that they can also be distinguished in grey
print; the cells of a heat map have numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairseq_xling.reports.figures import COLOURS, new_figure, same_range, styled
from fairseq_xling.reports.paper import points, side_by_side
from fairseq_xling.reports.pivot import OverSeeds

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
    same_range("x", axes.flat[: len(panels)])
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
_NO_DECIMALS = 10  # length of the scale beyond which numbers are whole
_SLANTED = 6  # letters of a column's name, beyond which it is written upwards
_COLOURS = "cividis"  # its lightness is uniform, and nearly everyone sees blue and yellow


@dataclass(frozen=True)
class HeatPanel:
    """One heat map: ``matrix[r][c]``, NaN for a cell that stays white; the first row at the top.

    Attributes:
        rows, columns: their names.
        unit: label of the colour scale.
        scale: the values of the darkest and the lightest colour.
    """

    matrix: Sequence[Sequence[float]]
    rows: Sequence[object]
    columns: Sequence[object]
    xlabel: str = ""
    ylabel: str = ""
    title: str = ""
    unit: str = ""
    scale: tuple[float, float] = (0.0, 1.0)


@styled
def draw_heat_maps(panels: Sequence[HeatPanel]) -> Figure:
    """Heat maps, two side by side where their words have room."""
    wide = max(len(panel.columns) for panel in panels)
    columns = side_by_side(min(2, len(panels)), least=2.2 + 0.16 * wide)
    heights = []
    for first in range(0, len(panels), columns):
        beside = panels[first : first + columns]
        longest = max(len(str(name)) for panel in beside for name in panel.columns)
        words = longest * (0.05 if longest <= _SLANTED else 0.09)
        heights.append(1.4 + 0.38 * max(3, *(len(p.rows) for p in beside)) + words)
    figure = new_figure((columns * (2.4 + 0.46 * max(4, wide)), sum(heights)))
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw_cells(axis, panel)
        axis.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
        axis.set_title(panel.title, fontsize=points(10))
    return figure


def _draw_cells(axis: Axes, panel: HeatPanel) -> None:
    low, high = panel.scale
    image = axis.imshow(panel.matrix, cmap=_COLOURS, vmin=low, vmax=high, aspect="auto")
    names = list(map(str, panel.columns))
    longest = max(map(len, names))
    turned: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    turned = turned if longest <= _SLANTED else {"rotation": 90}
    axis.set_xticks(range(len(names)), names, **(turned if longest > 2 else {}))
    axis.set_yticks(range(len(panel.rows)), list(map(str, panel.rows)))
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis, label=panel.unit)
    if max(len(panel.rows), len(names)) > _NUMBERED:
        return
    known = [value for values in panel.matrix for value in values if not math.isnan(value)]
    whole = all(value == round(value) for value in known)
    whole = whole and (low < 0 or any(abs(value) > 1 for value in known))
    whole = whole or high - low > _NO_DECIMALS
    for r, values in enumerate(panel.matrix):
        for c, value in enumerate(values):
            if math.isnan(value):
                continue
            colour = "white" if value < (low + high) / 2 else "black"
            sign = "+" if low < 0 and value else ""
            text = f"{value:{sign}.0f}" if whole else f"{value:.2f}".removeprefix("0")
            axis.text(c, r, text, ha="center", va="center", color=colour, fontsize=points(7))
