"""The figure of `fairseq-xling embed inspect`: a histogram and a plane for every file."""

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fairseq_xling.mapping.neighbourhood import BINS, Neighbourhood
from fairseq_xling.results import figures, paper
from fairseq_xling.results.paper import fit

_WORD, _OTHERS = figures.COLOURS[1], figures.COLOURS[0]
_WIDER = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Arial Unicode MS")


@figures.styled
def draw_neighbourhoods(found: Sequence[Neighbourhood]) -> Figure:
    """A row per file: cosines to all words on the left, the nearest words' plane on the right."""
    with _without_glyph_warnings(), matplotlib.rc_context({"font.family": _fonts()}):
        return _drawn(found)


def _drawn(found: Sequence[Neighbourhood]) -> Figure:
    columns = paper.side_by_side(2, least=2.6)
    size = paper.size_of(5.5 * columns, 4.6 * len(found) * (2 // columns))
    figure = _Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    ratios = (1, 1.35)[:columns]
    axes = figure.subplots(len(found) * 2 // columns, columns, squeeze=False, width_ratios=ratios)
    axes = axes.reshape(len(found), 2)
    for (left, right), each in zip(axes, found, strict=True):
        _draw_histogram(left, each)
        _draw_plane(right, each)
    fit(figure)
    figure.canvas.draw()  # positions are final before labels are tried
    for right, each in zip(axes[:, 1], found, strict=True):
        _label_plane(right, each)
    return figure


def _draw_histogram(axis: Axes, found: Neighbourhood) -> None:
    edges = np.linspace(-1, 1, BINS + 1)
    axis.bar(edges[:-1], found.counts, width=2 / BINS, align="edge", color=_OTHERS, linewidth=0)
    last = float(found.similarities[-1])
    axis.axvline(last, color=_WORD, linewidth=1.2, label=f"neighbour {len(found.neighbours)}")
    axis.set_yscale("symlog", linthresh=1)
    least = edges[np.flatnonzero(found.counts)[0]]
    axis.set(
        xlim=(min(-0.5, least - 0.02), 1.02),
        xlabel=f"cosine to {found.word}",
        ylabel=f"words, of {found.counts.sum():,}",
        title=found.name,
    )
    axis.legend(fontsize=paper.points(8))


def _draw_plane(axis: Axes, found: Neighbourhood) -> None:
    axis.scatter(*found.points.T, s=12, color=_OTHERS, label="nearest neighbours")
    axis.scatter(*found.own, s=70, marker="*", color=_WORD, label=found.word, zorder=3)
    axis.margins(0.08)
    axis.set(
        xlabel=f"first component, {found.shares[0]:.0%} of the variance",
        ylabel=f"second, {found.shares[1]:.0%}",
        title=f"{found.word} and its {len(found.neighbours)} nearest",
    )


def _label_plane(axis: Axes, found: Neighbourhood) -> None:
    """Label the word and its neighbours, nearest first, where there is room."""
    renderer = axis.figure.canvas.get_renderer()
    inside, taken = axis.get_window_extent(renderer), []
    points = [(found.word, found.own, _WORD), *((s, p, "black") for s, p in _named(found))]
    for symbol, point, colour in points:
        for shift, align in ((4, "left"), (-4, "right")):
            text = axis.annotate(
                symbol,
                point,
                xytext=(shift, 2),
                textcoords="offset points",
                ha=align,
                fontsize=paper.points(8),
                color=colour,
            )
            box = text.get_window_extent(renderer)
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _named(found: Neighbourhood) -> list[tuple[str, np.ndarray]]:
    return list(zip(found.neighbours, found.points, strict=True))


@figures.styled
def to_png(figure: Figure) -> bytes:
    """The figure as a PNG image; letters missing from all fonts are boxes."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130, metadata={"Software": None})
    return image.getvalue()


class _Figure(Figure):
    """Text stays text in its SVG: the viewer may have fonts for more languages."""

    def savefig(self, *args: Any, **options: Any) -> None:
        with _without_glyph_warnings(), matplotlib.rc_context({"svg.fonttype": "none"}):
            super().savefig(*args, **options)


@contextlib.contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


def _fonts() -> list[str]:
    """A font for European letters and those installed for others, so that few are boxes."""
    known = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _WIDER if name in known)]
