"""Tables of studies read back: a row per setting, cells of the form ``mean ± deviation``."""

import re
from collections.abc import Sequence
from typing import Any

from fairseq_xling.results.plots import BarPanel, Bars

_CELL = re.compile(r"(-?[\d,]*\.?\d+)(?: ± (\d*\.?\d+))?")


def parse_cell(cell: Any) -> tuple[float, float | None] | None:
    """Mean and deviation of a cell, None if it has no figure.

    >>> parse_cell("0.20 ± 0.10"), parse_cell("58.1"), parse_cell(1600), parse_cell("A1")
    ((0.2, 0.1), (58.1, None), (1600.0, None), None)
    """
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell), None
    match = _CELL.fullmatch(cell) if isinstance(cell, str) else None
    if match is None:
        return None
    mean, spread = match.groups()
    return float(mean.replace(",", "")), None if spread is None else float(spread)


def column_bars(
    names: Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    columns: Sequence[str],
    unit: str = "",
) -> list[BarPanel]:
    """A panel of bars for each of ``columns`` of a table that has any figure."""
    panels = []
    for name in columns:
        place = list(header).index(name)
        cells = [parse_cell(row[place]) for row in rows]
        if any(cells):
            values = [None if cell is None else cell[0] for cell in cells]
            spread = [None if cell is None else cell[1] for cell in cells]
            panels.append(BarPanel(names, [Bars(name, values, spread)], f"{name}{unit}"))
    return panels


def measured_columns(header: Sequence[str]) -> list[str]:
    """The columns of a study's table with measured figures of its models.

    >>> measured_columns(["row", "", "parameters", "BLEU, de", "Δ", "Δ BLEU", "paper: BLEU"])
    ['BLEU, de']
    """
    about = {"row", "setting", "", "BPE", "parameters", "steps", "tokens"}
    return [name for name in header if name not in about and not name.startswith(("Δ", "paper:"))]
