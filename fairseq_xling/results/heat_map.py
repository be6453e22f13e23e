"""Heat maps with numbers in their cells, readable in grey and by colour-blind readers."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from fairseq_xling.results import figures  # noqa: F401  sets the style of all figures

_NUMBERED = 16  # rows or columns beyond which there is no room for numbers
_COLOURS = "cividis"  # its lightness is uniform, and nearly everyone sees blue and yellow


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
    figure, axis = plt.subplots(figsize=size)
    image = axis.imshow(matrix, cmap=_COLOURS, vmin=0, vmax=1, origin="lower", aspect="auto")
    axis.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axis.set_xticks(range(len(columns)), list(map(str, columns)))
    axis.set_yticks(range(len(rows)), list(map(str, rows)))
    axis.grid(False)
    figure.colorbar(image, label=what)
    if max(len(rows), len(columns)) <= _NUMBERED:
        for r, values in enumerate(matrix):
            for c, value in enumerate(values):
                if math.isnan(value):
                    continue
                colour = "white" if value < 0.5 else "black"
                text = f"{value:.2f}".removeprefix("0")
                axis.text(c, r, text, ha="center", va="center", color=colour, fontsize=7)
    return figure
