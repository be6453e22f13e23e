"""Zero-shot figures against a property of the languages: table, correlation and scatter plot.

Shared by `eval overlap` and `eval word-order` (Pires et al., 2019, Figures 2 and 3).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.correlation import LEAST, correlation
from fairseq_xling.errors import UserError
from fairseq_xling.files import same_place, write_json
from fairseq_xling.provenance import machine, provenance
from fairseq_xling.results import report
from fairseq_xling.results.figure_file import write_svg
from fairseq_xling.results.figures import Points, draw_scatter, to_svg
from fairseq_xling.results.report import Section
from fairseq_xling.results.tables import text_table, write_csv
from fairseq_xling.studies.transfer.finished import RESULTS, Cell

CORRELATIONS = ("encoder", "points", "Pearson", "Spearman")


@dataclasses.dataclass(frozen=True)
class Property:
    """The property that figures are compared with.

    Attributes:
        title, lead: of the report.
        csv: name of the file of all figures.
        xlabel: of the plot, with its unit.
        whole: whether it is a count.
        notes: further notes for the reader.
    """

    title: str
    lead: str
    csv: str
    xlabel: str
    whole: bool = False
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Point:
    """A figure with its property ``x``, None if unknown; ``details`` by column."""

    cell: Cell
    x: float | None
    details: Mapping[str, Any]


def check_output(output: Path, runs: Sequence[str]) -> None:
    """Refuse to overwrite a run, whose report and results have the same names."""
    for run in runs:
        if same_place(output, run):
            raise UserError(f"`--output` must be another folder than the run's, got {output}")


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
    head = drawn[0].cell.config.head
    metric = drawn[0].cell.config.figure
    header, rows = _every_figure(points, metric)
    found = _correlations(points, drawn)
    notes = [*_notes(metric), *prop.notes, f"{machine()}."]
    figure = draw_scatter(
        _groups(points, drawn), prop.xlabel, f"zero-shot {metric} (%)", whole=prop.whole
    )
    svg = to_svg(figure)
    write_svg(output / "plot.svg", svg)
    write_csv(output / prop.csv, header, rows)
    runs = dict.fromkeys(point.cell.run for point in points)
    origin = provenance({**{f"run {run}": run / RESULTS for run in runs}, **inputs})
    record = {"title": prop.title, "head": head, "metric": metric, "header": header, "rows": rows}
    record |= {"correlations": [dict(zip(CORRELATIONS, row, strict=True)) for row in found]}
    write_json(output / RESULTS, {**record, "notes": notes, "provenance": origin})
    shown = [["-" if value is None else value for value in row] for row in found]
    table = _table(points, metric)
    sections = [
        Section(f"{metric} against the {prop.xlabel}", svg=svg, notes=notes),
        Section("Correlation", header=CORRELATIONS, rows=shown),
        Section("Every figure", header=table[0], rows=table[1]),
        Section("Files", header=["file", "SHA-256 (its beginning)"], rows=[
            [one["path"], one["sha256"][:16]] for one in origin["inputs"].values()
        ]),
        report.versions_section(),
        Section("Exact command", code=origin["command"]),
    ]  # fmt: skip
    report.write_report(output / "report.html", prop.title, [prop.lead], sections)
    tables = [text_table(*table), text_table(CORRELATIONS, shown)]
    return "\n\n".join([*tables, f"report: {output / 'report.html'}"])


def _table(points: Sequence[Point], metric: str) -> tuple[list[str], list[list[Any]]]:
    """As displayed: narrow enough for a page."""
    header = ["encoder", "languages", *points[0].details, f"{metric} (%)"]
    return header, [
        [point.cell.row, _pair(point.cell), *point.details.values(), point.cell.mean]
        for point in points
    ]


def _every_figure(points: Sequence[Point], metric: str) -> tuple[list[str], list[list[Any]]]:
    header = ["encoder", "trained on", "language", "zero-shot", *points[0].details]
    return [*header, f"{metric} (%)", "seeds"], [
        [
            *(cell.row, "+".join(cell.sources), cell.lang, "yes" if cell.zero_shot else "no"),
            *(*point.details.values(), cell.mean, len(cell.values)),
        ]
        for point in points
        for cell in (point.cell,)
    ]


def _correlations(points: Sequence[Point], drawn: Sequence[Point]) -> list[list[Any]]:
    rows = []
    for row in dict.fromkeys(point.cell.row for point in points):
        own = [point for point in drawn if point.cell.row == row]
        found = correlation([point.x for point in own], [point.cell.mean for point in own])
        rows.append([row, len(own), *(found or (None, None))])
    return rows


def _groups(points: Sequence[Point], drawn: Sequence[Point]) -> list[Points]:
    several = len({point.cell.sources for point in points}) > 1
    groups = []
    for style, row in enumerate(dict.fromkeys(point.cell.row for point in points)):
        own = [point for point in drawn if point.cell.row == row]
        names = [_pair(point.cell) if several else point.cell.lang for point in own]
        x, y = [point.x for point in own], [point.cell.mean for point in own]
        groups.append(Points(row, x, y, names, style))
    return [group for group in groups if group.names]


def _pair(cell: Cell) -> str:
    return f"{'+'.join(cell.sources)}→{cell.lang}"


def _notes(metric: str) -> list[str]:
    return [
        f"{metric} in percent, the mean over seeds and chosen settings.",
        "Plot and correlation: languages that the model was not trained on. An arrow leads from "
        "the training language. Names that do not fit in the plot are left out.",
        f"Correlation: not given for fewer than {LEAST} points, or if all are equal.",
    ]
