"""The figures that `record.Chart` declares: curves, dots, bars, heat maps and scatter plots."""

import dataclasses
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.figures import (
    DotPanel,
    Line,
    Panel,
    Points,
    draw,
    draw_dots,
    draw_scatter,
)
from fairseq_xling.reports.pivot import OverSeeds
from fairseq_xling.reports.plots import BarPanel, HeatPanel, draw_bars, draw_heat_maps, over_seeds
from fairseq_xling.reports.record import Chart
from fairseq_xling.reports.rows import Row, distinct, figures, select, told

_MOST = 100  # panels of a figure
_UNMARKED = 30  # points of a line, from which on they have no markers


def draw_chart(chart: Chart, rows: Sequence[Row]) -> Figure:
    """The figure of a chart.

    Raises:
        UserError: if there is nothing to draw, or too much.
    """
    own = [row for row in select(rows, chart.where) if _number(row.get("value"))]
    if chart.kind in ("curve", "scatter"):
        own = [row for row in own if _number(row.get(chart.x))]
    panels = distinct(own, chart.panel)
    if not own or len(panels) > _MOST:
        raise UserError(f"a chart must have 1 to {_MOST} panels, got {len(panels)}")
    draw_kind = {"curve": _curve, "dots": _dots, "bars": _bars, "heat": _heat, "scatter": _scatter}
    return draw_kind[chart.kind](chart, own)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _panels(chart: Chart, rows: Sequence[Row]) -> Iterator[tuple[Any, list[Row], dict[str, str]]]:
    """The rows of each panel, and its words: title and labels of its axes."""
    several = len(distinct(rows, chart.panel)) > 1
    for name in distinct(rows, chart.panel):
        own = [row for row in rows if told(row, chart.panel) == name]
        title = chart.title or (chart.panel if several else "")
        words = {
            key: _said(own[0], text) if "{" in text or key == "title" else text
            for key, text in (
                ("title", title),
                ("xlabel", chart.xlabel),
                ("ylabel", chart.ylabel),
            )
        }
        if words["title"] in (words["xlabel"], words["ylabel"]):
            words["title"] = ""
        yield name, own, words


def _said(row: Row, words: str) -> str:
    return "" if not words or (found := told(row, words)) is None else str(found)


def _chance(chart: Chart, rows: Sequence[Row]) -> tuple[float, str] | None:
    row = next((row for row in rows if _number(row.get("chance"))), None)
    if not chart.chance or row is None:
        return None
    return float(row["chance"]), told(row, chart.chance) if "{" in chart.chance else chart.chance


def _ordered(wanted: Sequence[Any], rows: Sequence[Row], words: str) -> list[Any]:
    found = distinct(rows, words)
    return [one for one in wanted if one in found] if wanted else found


def _curve(chart: Chart, rows: Sequence[Row]) -> Figure:
    # Lines of a given order look alike in every chart of it, whichever are there.
    styles = list(chart.rows) or distinct(rows, chart.row)
    panels = []
    for name, own, words in _panels(chart, rows):
        lines = []
        for line in _ordered(styles, own, chart.row):
            found = figures([row for row in own if told(row, chart.row) == line], chart.x)
            places = sorted(found)
            values = [found[place] for place in places]
            several = min(map(len, values), default=0) > 1
            lines.append(
                Line(
                    str(line),
                    [place for (place,) in places],
                    list(map(statistics.fmean, values)),
                    styles.index(line),
                    marked=len(places) < _UNMARKED,
                    spread=list(map(statistics.stdev, values)) if several else (),
                )
            )
        mark = chart.marks.get(str(name), chart.marks.get("", ()))
        whole = all(float(x).is_integer() for line in lines for x in line.x)
        panels.append(
            Panel(
                lines,
                **words,
                chance=_chance(chart, own),
                chosen=(float(mark[0]), str(mark[1])) if mark else None,
                log="y" in chart.log,
                log_x="x" in chart.log,
                whole=whole,
            )
        )
    return draw(panels)


def _dots(chart: Chart, rows: Sequence[Row]) -> Figure:
    found = figures(rows, chart.panel, chart.row)
    if max(map(len, found.values())) == 1:  # nothing to see of single diamonds
        return _bars(chart, rows)
    names = _ordered(chart.rows, rows, chart.row)
    return draw_dots(
        [
            DotPanel(
                list(map(str, names)),
                [found.get((name, line), []) for line in names],
                words["xlabel"] or words["ylabel"],
                words["title"],
                _chance(chart, own),
            )
            for name, own, words in _panels(chart, rows)
        ]
    )


def _bars(chart: Chart, rows: Sequence[Row]) -> Figure:
    line = chart.row
    alone = len(distinct(rows, chart.row)) == 1 and not chart.series
    alike = len({told(row, chart.xlabel or chart.ylabel) for row in rows}) == 1
    if alone and alike and len(distinct(rows, chart.panel)) > 1:  # a bar each: one panel of them
        line, chart = chart.panel, _in_one_panel(chart)
    panels = []
    for _, own, words in _panels(chart, rows):
        names = _ordered(chart.rows, own, line)
        groups = []
        for label in distinct(own, chart.series) if chart.series else [None]:
            of = [row for row in own if not chart.series or told(row, chart.series) == label]
            found = figures(of, line)
            cells = [OverSeeds(tuple(v)) if (v := found.get((one,))) else None for one in names]
            groups.append(over_seeds(str(label or words["ylabel"]), cells))
        label = words["xlabel"] or words["ylabel"]
        shown = list(map(str, names))
        panels.append(BarPanel(shown, groups, label, words["title"], _chance(chart, own)))
    return draw_bars(panels)


def _in_one_panel(chart: Chart) -> Chart:
    return dataclasses.replace(chart, panel="none", title="", rows=())


def _heat(chart: Chart, rows: Sequence[Row]) -> Figure:
    panels = []
    for _, own, words in _panels(chart, rows):
        down, across = _ordered(chart.rows, own, chart.row), _ordered(chart.columns, own, chart.x)
        found = figures(own, chart.row, chart.x)
        missing = [float("nan")]
        matrix = [[statistics.fmean(found.get((r, c), missing)) for c in across] for r in down]
        unit = told(own[0], chart.unit) if "{" in chart.unit else chart.unit
        low, high = (float(own[0][x] if isinstance(x, str) else x) for x in chart.scale)
        panels.append(HeatPanel(matrix, down, across, unit=str(unit), scale=(low, high), **words))
    return draw_heat_maps(panels)


def _scatter(chart: Chart, rows: Sequence[Row]) -> Figure:
    groups = []
    for style, name in enumerate(distinct(rows, chart.row)):
        own = [row for row in rows if told(row, chart.row) == name]
        places = [row[chart.x] for row in own], [row["value"] for row in own]
        labels = [_said(row, chart.label) for row in own]
        groups.append(Points(str(name), *places, labels, style))
    ((_, _, words),) = _panels(_in_one_panel(chart), rows)
    whole = all(isinstance(row[chart.x], int) for row in rows)
    return draw_scatter(groups, words["xlabel"], words["ylabel"], whole=whole)
