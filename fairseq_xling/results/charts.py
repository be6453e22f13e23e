"""Figures declared over a frame of results: curves, dots, bars, a heat map, a scatter plot.

Each is split into panels by the values of one column and has lines, rows or groups by those of
others, in the order in which they first appear. Over seeds it shows a mean with its deviation, or
a dot each.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.results.figures import (
    DotPanel,
    Line,
    Panel,
    Points,
    draw,
    draw_dots,
    draw_scatter,
)
from fairseq_xling.results.frame import figures, split
from fairseq_xling.results.plots import BarPanel, draw_bars, draw_heat_map, over_seeds
from fairseq_xling.results.statistics import OverSeeds

Words = str | Mapping[str, str] | Callable[[pandas.DataFrame], str]


def curves(
    frame: pandas.DataFrame,
    ylabel: Words,
    *,
    xlabel: str,
    x: str = "layer",
    line: str = "row",
    label: str = "",
    panel: str = "measure",
    title: Words = "",
    chance: Words = "",
    chosen: Mapping[str, tuple[float, str]] | None = None,
    styles: Sequence[Any] = (),
    common: bool = False,
) -> Figure:
    """Values by ``x``, a line for each ``line``; bands are standard deviations over seeds.

    Args:
        ylabel, title: of a panel: of all, by its name, or made from its rows.
        label: the column with what the legend says of a line (default: ``line``).
        chance: what a dotted line at the rows' ``chance`` is called, ``{}`` stands for its height;
            as ``title``.
        chosen: a vertical line with its label, by panel.
        styles: all lines, if a panel's lines must look as those of other figures.
        common: whether there is one legend for all panels.
    """
    panels = []
    for name, own in split(frame, panel):
        lines = []
        for number, (of, rows) in enumerate(split(own, line)):
            found = figures(rows, x)
            values = list(found.values())
            several = min(map(len, values), default=0) > 1
            lines.append(
                Line(
                    rows[label or line].iat[0],
                    [place for (place,) in found],
                    list(map(statistics.fmean, values)),
                    styles.index(of) if styles else number,
                    spread=list(map(statistics.stdev, values)) if several else (),
                )
            )
        panels.append(
            Panel(
                lines,
                xlabel,
                _said(ylabel, name, own),
                _said(title, name, own),
                chance=_chance(own, chance, name),
                chosen=(chosen or {}).get(name),
                whole=True,
            )
        )
    return draw(panels, common=common)


def dots(
    frame: pandas.DataFrame,
    xlabel: Words,
    *,
    row: str = "row",
    panel: str = "measure",
    title: Words = "",
    chance: Words = "",
    rows: Sequence[Any] = (),
) -> Figure:
    """A row for each ``row`` with a dot for each seed and their mean; arguments as of `curves`.

    ``rows`` are their order, if it is not that of the frame.
    """
    names = rows or list(dict.fromkeys(frame[row]))
    panels = []
    for name, own in split(frame, panel):
        found = figures(own, row)
        values = [found.get((one,), []) for one in names]
        words = _said(xlabel, name, own), _said(title, name, own)
        panels.append(DotPanel(names, values, *words, chance=_chance(own, chance, name)))
    return draw_dots(panels)


def bars(
    frame: pandas.DataFrame,
    xlabel: Words,
    *,
    row: str = "row",
    series: str = "measure",
    panel: str = "measure",
    title: Words = "",
    chance: Words = "",
) -> Figure:
    """A group of bars for each ``row``, one for each ``series``; whiskers are deviations."""
    names = list(dict.fromkeys(frame[row]))
    panels = []
    for name, own in split(frame, panel):
        groups = []
        for label, rows in split(own, series):
            found = figures(rows, row)
            cells = [OverSeeds.of(found.get((one,), ()), 1) for one in names]
            groups.append(over_seeds(label, cells))
        words = _said(xlabel, name, own), _said(title, name, own)
        panels.append(BarPanel(names, groups, *words, chance=_chance(own, chance, name)))
    return draw_bars(panels)


def heat_map(
    frame: pandas.DataFrame,
    *,
    row: str,
    column: str,
    xlabel: str,
    ylabel: str,
    what: str,
    title: str = "",
    rows: Sequence[Any] = (),
    columns: Sequence[Any] = (),
) -> Figure:
    """A cell for each ``row`` and ``column``, the mean over all else; ``rows`` and ``columns`` are
    their order, if it is not that of the frame."""
    found = figures(frame, row, column)
    rows, columns = (
        given or list(dict.fromkeys(frame[name]))
        for given, name in ((rows, row), (columns, column))
    )
    matrix = [[statistics.fmean(found.get((r, c), [float("nan")])) for c in columns] for r in rows]
    return draw_heat_map(matrix, rows, columns, xlabel, ylabel, what, title)


def scatter(
    frame: pandas.DataFrame,
    xlabel: str,
    ylabel: str,
    *,
    x: str,
    group: str = "row",
    label: str = "target",
    whole: bool = False,
) -> Figure:
    """A labelled point for each row of the frame, a colour and a marker for each ``group``."""
    groups = []
    for style, (name, own) in enumerate(split(frame, group)):
        places = own[x].tolist(), own["value"].tolist()
        groups.append(Points(name, *places, list(map(str, own[label])), style))
    return draw_scatter(groups, xlabel, ylabel, whole=whole)


def _said(words: Words, name: Any, rows: pandas.DataFrame) -> str:
    if isinstance(words, Mapping):
        return words[name]
    return words if isinstance(words, str) else words(rows)


def _chance(rows: pandas.DataFrame, said: Words, name: Any) -> tuple[float, str] | None:
    """The chance level of a panel, if it is named and its first row has one."""
    level, words = rows["chance"].iat[0], _said(said, name, rows)
    if not words or level is None:
        return None
    return level, words if callable(said) else words.format(level)
