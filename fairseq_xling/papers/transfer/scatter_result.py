"""Zero-shot figures against a property of the languages: table, correlation and scatter plot.

Shared by `eval overlap` and `eval word-order` (Pires et al., 2019, Figures 2 and 3), which read the
figures of finished runs of `eval transfer` and `eval matrix`.
"""

import dataclasses
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pandas import DataFrame

from fairseq_xling.analysis.correlation import LEAST, correlation
from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json, same_place
from fairseq_xling.papers.transfer.config import TransferConfig
from fairseq_xling.papers.transfer.plan import parse_tests
from fairseq_xling.papers.transfer.transfer_result import scored_lines
from fairseq_xling.results.figures import Points, draw_scatter
from fairseq_xling.results.frame import figures
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, Table, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, PAGE, Kind, find_results, make_page, write_results
from fairseq_xling.results.tables import text_table
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.items import parse_files


@dataclasses.dataclass(frozen=True)
class FinishedFigure:
    """A figure of a run: one encoder on one language.

    Attributes:
        run: its folder.
        config: its settings; their paths are relative to the folder in which it was started.
        encoder: the encoder's name there.
        row: its name among other rows, of other encoders and other runs.
        sources: the languages that were trained on.
        lang: the language tested.
        values: the figure for each seed, in percent.
        tested: the file it was tested on.
    """

    run: Path
    config: TransferConfig
    encoder: str
    row: str
    sources: tuple[str, ...]
    lang: str
    values: tuple[float, ...]
    tested: Path = Path()

    @property
    def zero_shot(self) -> bool:
        """Whether the model was not trained on this language."""
        return self.lang not in self.sources

    @property
    def mean(self) -> float:
        """The figure's mean over the seeds."""
        return statistics.fmean(self.values)


def read_runs(runs: Sequence[str | Path]) -> list[FinishedFigure]:
    """All figures of some runs of one head, in the order of their commands.

    Rows with translated files are left out: their models have seen the language, or another one.
    If several runs have the same encoder name, it is followed by the run's.
    """
    folders = [Path(run) for run in runs]
    for folder in folders:
        if sum(same_place(folder, other) for other in folders) > 1:
            raise UserError(f"the run {folder} is named twice")
    by_run = [_read(folder) for folder in folders]
    cells = [cell for found in by_run for cell in found]
    for cell in cells:
        if cell.config.head != cells[0].config.head:
            raise UserError(
                f"{cell.run}: head must be {cells[0].config.head!r} like that of {cells[0].run}, "
                f"got {cell.config.head!r}"
            )
        if cell.config.figure != cells[0].config.figure:
            raise UserError(
                f"{cell.run}: metric must be {cells[0].config.figure!r} like that of "
                f"{cells[0].run}, got {cell.config.figure!r}"
            )
    if not any(cell.zero_shot for cell in cells):
        raise UserError(
            f"{', '.join(map(str, folders))}: no figure of a language that was not trained on"
        )
    rows = Counter(row for found in by_run for row in {cell.row for cell in found})
    names = Counter(folder.name for folder in folders)
    return [
        cell
        if rows[cell.row] == 1
        else dataclasses.replace(
            cell, row=f"{cell.row} ({cell.run.name if names[cell.run.name] == 1 else cell.run})"
        )
        for cell in cells
    ]


def _read(run: Path) -> list[FinishedFigure]:
    if not run.is_dir():
        raise UserError(f"{run}: no such folder of a run")
    if not (run / RESULTS).is_file():
        raise UserError(f"{run}: is not the folder of a finished run (no {RESULTS})")
    record = read_json(run / RESULTS)
    try:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in record["config"].items()}
        config = TransferConfig(**settings)
        heads.check(config.head)
        return list(
            _cells(run, config, scored_lines(Result(run, record).frame, config.figure, "encoder"))
        )
    except UserError:
        raise
    except MALFORMED:
        raise UserError(
            f"{run / RESULTS}: contains no results of `fairseq-xling eval transfer` or `eval "
            f"matrix` "
            "of this version"
        ) from None


def _cells(run: Path, config: TransferConfig, lines: DataFrame) -> Iterator[FinishedFigure]:
    # The order is that of the command; the results' files sort their keys.
    tests = parse_tests("--test", config.test)
    of = ["row", "line", "encoder", "source", "set"]
    own = lines[lines["how"] == ""]
    values = figures(own, *of, "target")
    for row, line, encoder, source, test_set in dict.fromkeys(own[of].itertuples(False, None)):
        for test in tests:
            found = values.get((row, line, encoder, source, test_set, test.lang))
            if test.name == test_set and found:
                about = encoder, line, tuple(source.split("+")), test.lang
                yield FinishedFigure(run, config, *about, tuple(found), test.path)


def training_files(config: TransferConfig) -> list[tuple[str, Path]]:
    """The files of ``--train``, each with its language."""
    return parse_files("--train", ",".join(config.train))


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
        "points": [
            {
                **{"encoder": cell.row, "sources": list(cell.sources), "language": cell.lang},
                **{"zero-shot": cell.zero_shot, "x": point.x, "mean": cell.mean},
                "details": list(point.details.values()),
                "values": list(cell.values),
            }
            for point in points
            for cell in [point.cell]
        ],
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
                Section(  # narrow enough for a page
                    "Every figure",
                    header=["encoder", "languages", *record["columns"], f"{metric} (%)"],
                    rows=[[x["encoder"], _pair(x), *x["details"], x["mean"]] for x in points],
                ),
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
