"""The verbs that compare two folders of `fairseq-xling extract`: options, tables and figures."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError, about
from fairseq_xling.files import refuse_files_above
from fairseq_xling.named_files import FILE, NEW_FILE, NEW_RESULTS, Input
from fairseq_xling.ranges import COUNT, Number
from fairseq_xling.results.figure_file import WIDTHS

if TYPE_CHECKING:
    from fairseq_xling.analysis.extracted import Extracted
    from fairseq_xling.mapping.fitted import FittedMap
    from fairseq_xling.results.figure_file import Drawing
    from fairseq_xling.verbs.comparisons import Compare

FORMAT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of all of these verbs."""
    add = parser.add_argument
    add("x", metavar=Input("X"), help="folder written by `fairseq-xling extract`")
    add("y", metavar=Input("Y"), help="folder to compare it with")
    add("--layers", metavar="LAYERS", help="such as 0,2-4 (default: all, equal in both folders)")
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Options for the results."""
    add = parser.add_argument
    add(
        "--output",
        metavar=NEW_RESULTS,
        help="file for the results; the table is next to it as .csv",
    )
    add("--figure", metavar=NEW_FILE, help="figure to draw, .svg, .png or .pdf")
    add(
        "--figure-width",
        type=Number(float, WIDTHS),
        metavar="INCHES",
        help="width of the figure, such as 3.3 for a column and 6.9 for a page, with letters of 8 "
        "points (default: as wide as it likes)",
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """The options of verbs with nearest-neighbour search."""
    from fairseq_xling.mapping.nearest import WAYS

    add = parser.add_argument
    add("--map", metavar=FILE, help="map of X into the space of Y (`fairseq-xling map`)")
    add("--nearest", default=",".join(WAYS), metavar="WAYS", help="nearest-neighbour criteria")
    add(
        "--k",
        type=Number(int, COUNT),
        default=10,
        metavar="K",
        help="neighbours that CSLS averages over",
    )


def run_comparison(args: argparse.Namespace, compare: "Compare") -> None:
    """Compare the folders ``args.x`` and ``args.y``, print the table, and write the results.

    Raises:
        UserError: for invalid folders, files or options; nothing is written then.
    """
    from fairseq_xling.analysis.extracted import Extracted
    from fairseq_xling.verbs.comparisons import Sides
    from fairseq_xling.verbs.parts.comparison_result import (
        curve_table,
        draw_curves,
        draw_matrix,
        matrix_table,
    )

    check_output(args)
    x, y = Extracted(args.x), Extracted(args.y)
    files = {"X": x.path / "meta.json", "Y": y.path / "meta.json"}
    mapping = None
    if getattr(args, "map", None):
        from fairseq_xling.mapping.fitted import read_map

        mapping = read_map(args.map)
        files["map"] = Path(args.map)
    for name in ("dictionary", "alignments"):
        if getattr(args, name, None):
            files[name] = Path(getattr(args, name))
    sides = Sides(x, y, args.layers, mapping)
    with about(x.path, y.path):
        found = compare(sides, args)
    if mapping is not None:
        found.notes += _other_languages(mapping, x, y)
    record = {
        "measure": args.verb.removeprefix("eval-"),
        "folders": [str(x.path), str(y.path)],
        "pair": sides.pair,
        "title": found.title,
        "layers": list(found.layers),
        "curves": found.curves,
        "headline": found.headline,
        "means": found.means,
        "panels": found.panels,
        "unit": found.ylabel,
        "chance": found.chance and found.chance[0],
        "chance_is": found.chance and found.chance[1],
        "matrix": found.matrix,
        "matrix_layers": [list(side.layers) for side in (x, y)],
        "notes": found.notes,
        "details": found.details,
    }
    header, rows = matrix_table(record) if found.matrix is not None else curve_table(record)
    draw = draw_curves if found.matrix is None else draw_matrix
    figure = partial(draw, record) if args.figure else None
    finish(args, found.title, header, rows, found.notes, record, files, figure)


def _other_languages(mapping: "FittedMap", x: "Extracted", y: "Extracted") -> list[str]:
    """A note for each side that the map was not fitted for."""
    sides = {"moving": x, "fixed": y}
    langs = {side: mapping.other_language(folder.lang, side) for side, folder in sides.items()}
    return [
        f"WARNING: {sides[side].path} is of {sides[side].lang!r}, the map's {side} side of {lang!r}"
        for side, lang in langs.items()
        if lang is not None
    ]


def check_output(args: argparse.Namespace) -> None:
    """Reject names of files that cannot be written, before anything is computed.

    Raises:
        UserError: for a file of results that is not .json, a figure that is not .svg, .png or
            .pdf, the name of a folder, or a path inside a file.
    """
    from fairseq_xling.results.figure_file import check_figure

    if args.output and Path(args.output).suffix != ".json":
        raise UserError(f"`--output` must end in .json, got {args.output!r}")
    if args.figure:
        check_figure(args.figure)
    for option, name in (("output", args.output), ("figure", args.figure)):
        if name and Path(name).is_dir():
            raise UserError(f"`--{option}` {name}: is a folder, not a file")
        if name:
            refuse_files_above(f"--{option}", name)


def finish(
    args: argparse.Namespace,
    title: str,
    header: list[str],
    rows: list[list[Any]],
    notes: list[str],
    record: dict[str, Any],
    files: dict[str, Path],
    figure: "Drawing | None",
) -> None:
    """Print the table; write results with their provenance, the table as CSV, and the figure."""
    from fairseq_xling.files import write_json
    from fairseq_xling.provenance import provenance
    from fairseq_xling.results.figure_file import write_figure
    from fairseq_xling.results.tables import text_table, write_csv

    print("\n".join([title, text_table(header, rows), *(f"({note})" for note in notes)]))
    written = []
    if figure is not None:
        write_figure(args.figure, figure, args.figure_width)
        written.append(args.figure)
    if args.output:
        csv = Path(args.output).with_suffix(".csv")
        write_csv(csv, header, rows)
        write_json(args.output, {"format": FORMAT, **record, "provenance": provenance(files)})
        written += [args.output, str(csv)]
    if written:
        print(f"written to {', '.join(written)}")
