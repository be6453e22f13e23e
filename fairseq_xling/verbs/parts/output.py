"""Where a measurement goes: a printed table, the record as JSON, a CSV file, a figure."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.named_files import NEW_FILE, NEW_RESULTS
from fairseq_xling.core.options import option
from fairseq_xling.reports.figure_file import WIDTHS, check_figure, write_figure
from fairseq_xling.reports.page import every_number, parts
from fairseq_xling.reports.record import Record, made, write_record
from fairseq_xling.reports.tables import csv_text, text_table


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Files of the results."""

    output: str | None = option(
        None, "file for the results; the table is next to it as .csv", metavar=NEW_RESULTS
    )
    figure: str | None = option(None, "figure to draw, .svg, .png or .pdf", metavar=NEW_FILE)
    figure_width: float | None = option(
        None,
        "width of the figure, such as 3.3 for a column and 6.9 for a page, with letters of 8 "
        "points (default: as wide as it likes)",
        range=WIDTHS,
        metavar="INCHES",
    )


def check_output(options: Any) -> None:
    """Reject names of files that cannot be written, before anything is computed."""
    if options.output and Path(options.output).suffix != ".json":
        raise UserError(f"`--output` must end in .json, got {options.output!r}")
    if options.figure:
        check_figure(options.figure)
    for which, name in (("output", options.output), ("figure", options.figure)):
        if name and Path(name).is_dir():
            raise UserError(f"`--{which}` {name}: is a folder, not a file")


def as_text(record: Record) -> str:
    """The tables of a record with their notes, as printed."""
    blocks = []
    for part in parts(record):
        if part.section.table is not None:
            title = [part.section.title] if len(blocks) or len(record.sections) > 1 else []
            notes = [f"({note})" for note in part.section.notes]
            blocks.append("\n".join([*title, text_table(*part.shown), *notes]))
    return "\n\n".join([f"{record.title}\n{blocks[0]}", *blocks[1:]])


def finish(options: Any, record: Record, files: Mapping[str, str | Path]) -> None:
    """Print the tables; write the record with its provenance, its CSV, and its first figure."""
    print(as_text(record))
    written = []
    if options.figure:
        drawn = next(part for part in parts(record) if part.section.chart)
        write_figure(options.figure, drawn.figure, options.figure_width)
        written.append(options.figure)
    if options.output:
        csv = Path(options.output).with_suffix(".csv")
        with atomic_write(csv, "w") as file:
            file.write(csv_text(*every_number(record)))
        write_record(options.output, made(record, files))
        written += [options.output, str(csv)]
    if written:
        print(f"written to {', '.join(written)}")
