"""Figures as files: SVG, PNG or PDF."""

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.extras import check_installed
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.ranges import Range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300  # of PNG
_SAVED: dict[str, dict[str, Any]] = {
    ".png": {"format": "png", "dpi": DPI, "metadata": {"Software": None}},
    ".pdf": {"format": "pdf", "metadata": {"CreationDate": None}},
}
SUFFIXES = (".svg", *_SAVED)
WIDTHS = Range(2, 20)  # of a figure on paper, in inches
Drawing = Callable[[], "Figure"]


def check_figure(path: str | Path) -> Path:
    """``path``, if a figure can be written under such a name.

    >>> check_figure("cka.svg").name
    'cka.svg'
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UserError(f"`--figure` must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    check_installed("`--figure`", "matplotlib", "pandas")
    return path


def write_figure(path: str | Path, drawing: Drawing, width: float | None = None) -> None:
    """Write the figure of ``drawing`` atomically; the same figure gives the same file.

    Args:
        width: as of `figure_data`.
    """
    data = figure_data(drawing, check_figure(path).suffix, width)
    with atomic_write(path) as file:
        file.write(data)


def figure_data(drawing: Drawing, suffix: str, width: float | None = None) -> bytes:
    """The figure of ``drawing`` as a file whose name ends in ``suffix``, one of `SUFFIXES`.

    Args:
        width: of a paper's column or page, in inches; see `fairseq_xling.reports.paper` (default:
            as drawn).
    """
    import matplotlib

    from fairseq_xling.reports.figures import styled, to_svg

    with _drawn(drawing, width) as figure:
        if suffix == ".svg":
            return svg_file(to_svg(figure))
        data = io.BytesIO()
        # TrueType fonts: publishers refuse the Type 3 ones that matplotlib writes by default.
        with matplotlib.rc_context({"pdf.fonttype": 42}):
            styled(figure.savefig)(data, **_SAVED[suffix])
        return data.getvalue()


def svg_element(drawing: Drawing, width: float | None = None) -> tuple[str, float]:
    """The figure as an ``<svg>`` element, and its width; in inches, as of `figure_data`."""
    from fairseq_xling.reports.figures import to_svg

    with _drawn(drawing, width) as figure:
        return to_svg(figure), figure.get_figwidth()


@contextlib.contextmanager
def _drawn(drawing: Drawing, width: float | None) -> Iterator["Figure"]:
    from fairseq_xling.reports.figures import styled
    from fairseq_xling.reports.paper import fit, paper

    with paper(width):
        figure = drawing()
        styled(fit)(figure)
        yield figure


def svg_file(element: str) -> bytes:
    """An ``<svg>`` element as a file of its own."""
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + element).encode("utf-8")
