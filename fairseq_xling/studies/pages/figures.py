"""The figures of pages as files of their own, for a paper."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, refuse_files_above
from fairseq_xling.registry import unknown_name
from fairseq_xling.results.figure_file import SUFFIXES, Drawing, figure_data
from fairseq_xling.results.page import Page

FORMATS = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
_LONGEST = 60  # letters of a section in a name


def named_figures(pages: Iterable[tuple[str, Page]]) -> dict[str, Drawing]:
    """What draws every figure of ``pages``, by ``PAGE-SECTION``, a name for its file.

    Args:
        pages: each with its name.
    """
    found: dict[str, Drawing] = {}
    for name, page in pages:
        for section in page.sections:
            if section.figure is None:
                continue
            first = f"{name}-{section.name or slug(section.title)}"
            unique, number = first, 1
            while unique in found:
                number += 1
                unique = f"{first}-{number}"
            found[unique] = section.figure
    return found


def slug(title: str) -> str:
    """``title`` as a part of the name of a file.

    >>> slug("Order: en to de (BLEU)")
    'order-en-to-de-bleu'
    """
    words = re.findall(r"\w+", title.lower())
    return "-".join(words)[:_LONGEST].rstrip("-") or "figure"


def check_folder(folder: Path, names: Iterable[str], form: str) -> None:
    """Reject a folder that the figures ``names`` cannot be written to.

    Raises:
        UserError: if there is no figure, the format ``form`` is unknown, ``folder`` is a file or in
            one, or has a file of such a name.
    """
    if form not in FORMATS:
        raise UserError(f"`--figure-format`: {unknown_name('format', form, list(FORMATS))}")
    names = list(names)
    if not names:
        raise UserError("`--figures` requires a RUN with figures, got none")
    refuse_files_above("--figures", folder / names[0])
    taken = [f"{name}.{form}" for name in names if (folder / f"{name}.{form}").exists()]
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise UserError(
            f"`--figures` must be a folder without these figures, got {str(folder)!r} with "
            f"{taken[0]}{more}"
        )


def write_figures(
    folder: Path, figures: Mapping[str, Drawing], form: str, width: float | None
) -> None:
    """Write each of ``figures`` into ``folder`` as ``NAME.form``, atomically.

    Args:
        width: of each, in inches (default: as drawn).
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in figures.items():
        data = figure_data(drawing, f".{form}", width)
        with atomic_write(folder / f"{name}.{form}") as file:
            file.write(data)
