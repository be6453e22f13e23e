"""The figures of `fairseq-xling clcr show`, drawn from its record alone."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.figure import Figure, FigureBase

from fairseq_xling.results.figures import new_figure, styled
from fairseq_xling.results.paper import points, side_by_side
from fairseq_xling.results.plots import draw_cells

KINDS = ("plain", "confident")  # of classifiers, from top to bottom
_COLUMN, _ROW = 0.5, 0.42  # inches of a cell
_LEAST = 4


@styled
def draw_all(record: Mapping[str, Any]) -> Figure:
    """Words, and below them the heat maps of each direction."""
    parts = [(words_size(record), draw_words, record)]
    parts += [(maps_size(maps), draw_maps, maps) for maps in by_direction(record)]
    heights = [size[1] for size, *_ in parts]
    figure = new_figure((max(size[0] for size, *_ in parts), sum(heights)))
    places = figure.subfigures(len(parts), 1, squeeze=False, height_ratios=heights)
    for (_, draw, drawn), place in zip(parts, places[:, 0], strict=True):
        draw(drawn, place)
    figure.suptitle(record["title"])
    return figure


def by_direction(record: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The heat maps of the record, those of one direction together."""
    return [list(group) for _, group in groupby(record["maps"], lambda one: one["direction"])]


def words_size(record: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of `draw_words`, in inches."""
    longest = max(_LEAST, *(len(one["words"]) for one in record["words"]))
    return 2.6 + _COLUMN * longest, 2.2 * len(record["words"])


@styled
def draw_words(record: Mapping[str, Any], on: FigureBase | None = None) -> FigureBase:
    """Each language's words with p(key-point) by classifier (CLCR, Figure 2)."""
    figure = new_figure(words_size(record)) if on is None else on
    axes = figure.subplots(len(record["words"]), 1, squeeze=False)[:, 0]
    for axis, one in zip(axes, record["words"], strict=True):
        names = [
            f"{word} *" if pivot else word
            for word, pivot in zip(one["words"], one["pivots"], strict=True)
        ]
        kinds = [kind for kind in KINDS if kind in one["p"]]
        values = [one["p"][kind] for kind in kinds]
        draw_cells(axis, values, kinds, names, "p(key-point)", downwards=True)
        delta = f"kept above {record['delta']:g}"
        axis.set_title(f"key-points of {one['lang']} ({delta}; * pivot)", fontsize=points(10))
    return figure


def maps_size(maps: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Width and height of `draw_maps`, in inches."""
    count = max(_LEAST, len(maps[0]["words"]))
    columns = _columns(maps)
    rows = -(-len(maps) // columns)
    return columns * (2.6 + _COLUMN * count), rows * (1.9 + _ROW * count)


def _columns(maps: Sequence[Mapping[str, Any]]) -> int:
    """Two, where words have room for their letters."""
    return side_by_side(2, least=2.2 + 0.16 * len(maps[0]["words"]))


@styled
def draw_maps(maps: Sequence[Mapping[str, Any]], on: FigureBase | None = None) -> FigureBase:
    """For each head the gold matrix on the left, its own on the right (CLCR, Figure 3)."""
    figure = new_figure(maps_size(maps)) if on is None else on
    columns = _columns(maps)
    axes = figure.subplots(-(-len(maps) // columns), columns, squeeze=False)
    for axis, one in zip(axes.flat, maps, strict=False):
        words = one["words"]
        columns = words if one["pairs"] else range(1, len(words) + 1)
        whole = all(value == round(value) for row in one["matrix"] for value in row)
        draw_cells(
            axis,
            one["matrix"],
            words,
            columns,
            one["what"],
            scale=tuple(one["scale"]),
            whole=whole,
            downwards=True,
        )
        axis.set_title(f"{one['head']}: {one['title']}\n{one['direction']}", fontsize=points(10))
        axis.set_ylabel("key-point")
        axis.set_xlabel("key-point" if one["pairs"] else "position")
    return figure
