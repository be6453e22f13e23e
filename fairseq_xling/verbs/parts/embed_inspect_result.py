"""`fairseq-xling embed inspect`: a word among all others, by file (TreLM, appendix A.2).

Tables, a figure with a histogram and a plane for every file, and the page of them.
"""

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, write_json
from fairseq_xling.core.provenance import provenance
from fairseq_xling.mapping.neighbourhood import BINS, Neighbourhood, neighbourhood
from fairseq_xling.mapping.vectors_file import read_vectors
from fairseq_xling.results import figures, paper
from fairseq_xling.results.figures import to_svg
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.paper import fit
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.results.tables import write_csv

SOURCE = "TreLM (Li et al., 2021), appendix A.2"
# of a file in inspect.json: the field of `Neighbourhood`
_RECORDED = {"file": "name", "symbol": "word", "histogram": "counts", "neighbours": "neighbours"}
_RECORDED |= {"cosines": "similarities", "points": "points", "own": "own"}
_RECORDED |= {"variance_shares": "shares"}
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
    symbols, points = [found.word, *found.neighbours], [found.own, *found.points]
    for number, (symbol, point) in enumerate(zip(symbols, points, strict=True)):
        for shift, align in ((4, "left"), (-4, "right")):
            text = axis.annotate(
                symbol,
                point,
                xytext=(shift, 2),
                textcoords="offset points",
                ha=align,
                fontsize=paper.points(8),
                color="black" if number else _WORD,
            )
            box = text.get_window_extent(renderer)
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


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


def inspect_vectors(files: Sequence[str], word: str, top: int, output: str | Path) -> str:
    """Write ``inspect.{svg,png,json}``, ``histogram.csv`` and ``neighbours.csv`` into ``output``.

    Returns:
        The text to print: the nearest neighbours by file.
    """
    if top < 2:
        raise UserError(f"`--top` must be at least 2, got {top}")
    found = [neighbourhood(read_vectors(file), str(file), word, top) for file in files]
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    figure = draw_neighbourhoods(found)
    for name, content in (
        ("inspect.png", to_png(figure)),
        ("inspect.svg", to_svg(figure).encode("utf-8")),
    ):
        with atomic_write(output / name) as file:
            file.write(content)
    for name, table in tables(found).items():
        write_csv(output / f"{name}.csv", *table)
    write_json(
        output / "inspect.json",
        {
            "word": word,
            "files": [_about(n) for n in found],
            "provenance": provenance({f"vectors {i}": file for i, file in enumerate(files)}),
        },
    )
    lines = [f"{n.name}: {n.word} ~ {' '.join(n.neighbours[:10])}" for n in found]
    return "\n".join([*lines, f"{output}: inspect.svg, inspect.png, two tables and inspect.json"])


def tables(found: Sequence[Neighbourhood]) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """``histogram`` and ``neighbours`` of all files, each a header and rows."""
    edges = np.linspace(-1, 1, BINS + 1).round(6).tolist()
    bins = [[n.name, *edges[i : i + 2], int(n.counts[i])] for n in found for i in range(BINS)]
    nearest = [
        [n.name, i + 1, symbol, *(round(float(v), 6) for v in (n.similarities[i], *n.points[i]))]
        for n in found
        for i, symbol in enumerate(n.neighbours)
    ]
    return {
        "histogram": (["file", "from", "to", "words"], bins),
        "neighbours": (["file", "rank", "symbol", "cosine", "x", "y"], nearest),
    }


def _about(found: Neighbourhood) -> dict[str, Any]:
    about: dict[str, Any] = {"words": int(found.counts.sum())}
    for key, name in _RECORDED.items():
        value = getattr(found, name)
        about[key] = value.round(6).tolist() if isinstance(value, np.ndarray) else value
    return about


def from_record(about: Mapping[str, Any]) -> Neighbourhood:
    """One of the ``files`` of ``inspect.json``.

    Raises:
        KeyError: if something is missing.
    """
    known = {name: about[key] for key, name in _RECORDED.items()}
    arrays = {name: np.array(known[name], float) for name in ("similarities", "own", "shares")}
    counts, points = np.array(known["counts"], int), np.array(known["points"], float)
    return Neighbourhood(**{**known, **arrays, "counts": counts, "points": points.reshape(-1, 2)})


@KINDS.register("neighbourhood")
class NeighbourhoodPage:
    """The histogram and the plane of each file, and its nearest words side by side."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"word", "files"} <= record.keys()

    def page(self, result: Result) -> Page:
        found = [from_record(about) for about in result.record["files"]]
        word, most = result.record["word"], max(len(one.neighbours) for one in found)
        nearest = [[rank + 1, *(_named(one, rank) for one in found)] for rank in range(most)]
        notes = caption(
            result,
            SOURCE,
            "Left: cosines to all words of the file, on a logarithmic scale. Right: the nearest "
            "words on their first two principal components.",
        )
        return Page(
            title=f"{word} among its neighbours",
            source=SOURCE,
            lead=["Are the nearest words those with nearly the same meaning?"],
            sections=[
                Section(
                    "Cosines and nearest words",
                    figure=partial(draw_neighbourhoods, found),
                    notes=notes,
                ),
                Section("Nearest words", header=["rank", *(n.name for n in found)], rows=nearest),
            ],
            tables=tables(found),
            measured=[
                Measured("T16", f"cosine of {one.word!r} to its nearest word, {one.name}", value)
                for one in found
                for value in one.similarities[:1].tolist()
            ],
        )


def _named(one: Any, rank: int) -> str:
    if rank >= len(one.neighbours):
        return ""
    return f"{one.neighbours[rank]} ({one.similarities[rank]:.3f})"
