"""Zero-shot figures against a property of the languages: table, correlation and scatter plot.

Shared by `eval overlap` and `eval word-order` (Pires et al., 2019, Figures 2 and 3).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.correlation import LEAST, correlation
from fairseq_xling.errors import UserError
from fairseq_xling.results.figures import Points, draw_scatter
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, Table, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, PAGE, Kind, find_results, make_page, write_results
from fairseq_xling.results.tables import text_table
from fairseq_xling.studies.transfer.finished import FinishedFigure

CORRELATIONS = ("encoder", "points", "Pearson", "Spearman")


@dataclasses.dataclass(frozen=True)
class Property:
    """The property that figures are compared with.

    Attributes:
        title, lead: of the report.
        csv: name of the table of all figures.
        xlabel: of the plot, with its unit.
        row, figure: the row of the specification, and the paper's figure.
        whole: whether it is a count.
        notes: further notes for the reader.
    """

    title: str
    lead: str
    csv: str
    xlabel: str
    row: str
    figure: str
    whole: bool = False
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Point:
    """A figure with its property ``x``, None if unknown; ``details`` by column."""

    cell: FinishedFigure
    x: float | None
    details: Mapping[str, Any]


def write_scatter(
    output: Path, prop: Property, points: Sequence[Point], inputs: Mapping[str, Path]
) -> str:
    """Write figures, plot, report and results into ``output``; returns the text to print.

    Args:
        inputs: the files that ``points`` come from, by role, besides the runs' results.

    Raises:
        UserError: if the property is not known for any language that was not trained on.
    """
    drawn = [point for point in points if point.cell.zero_shot and point.x is not None]
    if not drawn:
        raise UserError(f"{prop.xlabel}: unknown for all languages that were not trained on")
    config = drawn[0].cell.config
    runs = dict.fromkeys(point.cell.run for point in points)
    record = {
        "property": dataclasses.asdict(prop),
        "head": config.head,
        "metric": config.figure,
        "columns": list(points[0].details),
        "points": [_recorded(point) for point in points],
        "correlations": [
            dict(zip(CORRELATIONS, row, strict=True)) for row in _correlations(points, drawn)
        ],
    }
    files = {**{f"run {run}": run / RESULTS for run in runs}, **inputs}
    write_results(Scatter, output, record, files)
    (result,) = find_results(output)
    tables = [
        text_table(section.header, section.rows)
        for section in make_page(result, figures=False).sections
        if section.header
    ]
    return "\n\n".join([*tables[::-1], f"report: {output / PAGE}"])


def _recorded(point: Point) -> dict[str, Any]:
    cell = point.cell
    return {
        "encoder": cell.row,
        "sources": list(cell.sources),
        "language": cell.lang,
        "zero-shot": cell.zero_shot,
        "x": point.x,
        "details": list(point.details.values()),
        "values": list(cell.values),
        "mean": cell.mean,
    }


@KINDS.register("scatter")
class Scatter(Kind):
    """The scatter plot, its correlations and every figure."""

    name = "scatter"

    def page(self, result: Result) -> Page:
        record = result.record
        prop = Property(**record["property"])
        metric, points = record["metric"], record["points"]
        source = f"Pires et al. (2019), {prop.figure}"
        figure = partial(
            draw_scatter, groups(points), prop.xlabel, f"zero-shot {metric} (%)", whole=prop.whole
        )
        found = [[one[name] for name in CORRELATIONS] for one in record["correlations"]]
        notes = [*_notes(metric), *prop.notes, f"{result.machine}."]
        return Page(
            title=prop.title,
            source=source,
            lead=[prop.lead],
            sections=[
                Section(
                    f"{metric} against the {prop.xlabel}",
                    figure=figure,
                    notes=[*caption(result, source, "Means over seeds."), *notes],
                    name="plot",
                ),
                Section(
                    "Correlation",
                    header=CORRELATIONS,
                    rows=[["-" if value is None else value for value in row] for row in found],
                ),
                Section("Every figure", **_shown(record)),
            ],
            tables={prop.csv: _every_figure(record), "correlations": (CORRELATIONS, found)},
            measured=[
                Measured(
                    prop.row,
                    f"Pearson's correlation with zero-shot {metric}, {one['encoder']}",
                    one["Pearson"],
                )
                for one in record["correlations"]
                if one["Pearson"] is not None
            ],
        )


def _shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """As displayed: narrow enough for a page."""
    return {
        "header": ["encoder", "languages", *record["columns"], f"{record['metric']} (%)"],
        "rows": [
            [one["encoder"], _pair(one), *one["details"], one["mean"]] for one in record["points"]
        ],
    }


def _every_figure(record: Mapping[str, Any]) -> Table:
    header = ["encoder", "trained on", "language", "zero-shot", *record["columns"]]
    return [*header, f"{record['metric']} (%)", "seeds"], [
        [
            *(one["encoder"], "+".join(one["sources"]), one["language"]),
            "yes" if one["zero-shot"] else "no",
            *(*one["details"], one["mean"], len(one["values"])),
        ]
        for one in record["points"]
    ]


def _correlations(points: Sequence[Point], drawn: Sequence[Point]) -> list[list[Any]]:
    rows = []
    for row in dict.fromkeys(point.cell.row for point in points):
        own = [point for point in drawn if point.cell.row == row]
        found = correlation([point.x for point in own], [point.cell.mean for point in own])
        rows.append([row, len(own), *(found or (None, None))])
    return rows


def groups(points: Sequence[Mapping[str, Any]]) -> list[Points]:
    """What is drawn: languages that were not trained on, by encoder."""
    several = len({tuple(one["sources"]) for one in points}) > 1
    drawn = [one for one in points if one["zero-shot"] and one["x"] is not None]
    found = []
    for style, row in enumerate(dict.fromkeys(one["encoder"] for one in points)):
        own = [one for one in drawn if one["encoder"] == row]
        names = [_pair(one) if several else one["language"] for one in own]
        x, y = ([one[key] for one in own] for key in ("x", "mean"))
        found.append(Points(row, x, y, names, style))
    return [group for group in found if group.names]


def _pair(one: Mapping[str, Any]) -> str:
    return f"{'+'.join(one['sources'])}→{one['language']}"


def _notes(metric: str) -> list[str]:
    return [
        f"{metric} in percent, the mean over seeds and chosen settings.",
        "Plot and correlation: languages that the model was not trained on. An arrow leads from "
        "the training language. Names that do not fit in the plot are left out.",
        f"Correlation: not given for fewer than {LEAST} points, or if all are equal.",
    ]
