"""Heat maps with numbers in their cells, readable in grey and by colour-blind readers."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairseq_xling.results.figures import new_figure, styled
from fairseq_xling.results.paper import points

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
