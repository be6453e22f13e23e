"""`fairseq-xling clcr classify`: ESIM on frozen sequences, trained on one language."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.plots import BarPanel, Bars, draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.clcr.classify_table import LONG, gaps, lines_of_rows, long_rows
from fairseq_xling.studies.pages.studies import column_bars, parse_cell

SOURCE = "CLCR, 4.2"


@KINDS.register("clcr-classify")
class ClcrClassify:
    """Accuracy of each row by language, and the gap in points."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"classified", "majority", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], record["rows"]
        seeds = sorted({one["seed"] for one in record["classified"]})
        figure = draw_bars(_panels(header, rows))
        facts = ("Accuracy in percent, gap in points.", seeds_in_words(seeds))
        notes = caption(result, SOURCE, *facts)
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[
                "An ESIM reads frozen sequences of vectors; it was trained on one language, its "
                "epoch "
                "selected on that language's dev file, and saw no labels of another.",
            ],
            sections=[
                Section("Accuracy and gap", svg=to_svg(figure), notes=notes),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows), "scores": (LONG, list(long_rows(record)))},
            measured=list(_measured(record)),
        )


def _panels(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[BarPanel]:
    """Accuracy of all languages in one panel, and a panel for each gap."""
    names = [row[0] for row in rows]
    languages = [x for x in header[2:] if not x.startswith("gap ")]
    series = []
    for lang in languages:
        cells = [parse_cell(row[header.index(lang)]) for row in rows]
        values = [None if cell is None else cell[0] for cell in cells]
        series.append(Bars(lang, values, [None if cell is None else cell[1] for cell in cells]))
    behind = [x for x in header if x.startswith("gap ")]
    return [
        BarPanel(names, series, "accuracy (%)"),
        *column_bars(names, header, rows, behind, " (points)"),
    ]


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    """Of the last row, which is the whole pipeline, accuracy and gap."""
    line, languages = lines_of_rows(record["classified"])[-1], record["languages"]
    for name, values in line.values.items():
        what = f"accuracy (%) in {languages[name]}, {line.name}"
        yield Measured("C15", what, statistics.fmean(values))
    for name, values in gaps(line.values, languages, record["source"]).items():
        what = f"gap (points) of {languages[name]}, {line.name}"
        yield Measured("C15", what, statistics.fmean(values))
