"""Figures as files: SVG, PNG or PDF."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 200


def check_figure(path: str | Path) -> Path:
    """``path``, if a figure can be written under such a name.

    >>> check_figure("cka.svg").name
    'cka.svg'

    Raises:
        UserError: if it ends in anything but .svg, .png or .pdf.
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise UserError(f"`--figure` must end in {' or '.join(_WRITERS)}, got {str(path)!r}")
    return path


def write_figure(path: str | Path, figure: "Figure", width: float | None = None) -> None:
    """Write ``figure`` atomically; the same figure gives the same file.

    Args:
        width: in inches, with its height in proportion; letters keep their size (default: as
            drawn).
    """
    if width is not None:
        figure.set_size_inches(figure.get_size_inches() * width / figure.get_figwidth())
    data = _WRITERS[check_figure(path).suffix](figure)
    with atomic_write(path) as file:
        file.write(data)


def write_svg(path: str | Path, svg: str) -> None:
    """Write an ``<svg>`` element, as returned by `to_svg`, atomically."""
    with atomic_write(path) as file:
        file.write(_document(svg))


def _svg(figure: "Figure") -> bytes:
    from fairseq_xling.results.figures import to_svg

    return _document(to_svg(figure))


def _document(svg: str) -> bytes:
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + svg).encode("utf-8")


def _png(figure: "Figure") -> bytes:
    return _saved(figure, format="png", dpi=_DPI, metadata={"Software": None})


def _pdf(figure: "Figure") -> bytes:
    import matplotlib

    # TrueType fonts: publishers refuse the Type 3 ones that matplotlib writes by default.
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        return _saved(figure, format="pdf", metadata={"CreationDate": None})


def _saved(figure: "Figure", **options: Any) -> bytes:
    from fairseq_xling.results.figures import styled

    data = io.BytesIO()
    styled(figure.savefig)(data, **options)
    return data.getvalue()


_WRITERS = {".svg": _svg, ".png": _png, ".pdf": _pdf}
