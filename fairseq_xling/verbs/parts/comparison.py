"""The verbs that compare two folders of `fairseq-xling extract`: options, tables and figures.

The folders may be of any two encoders, trained jointly or independently. A comparison is a function
``compare(sides, options) -> Comparison`` in the file of its verb; it never imports fairseq.

Symbols: ``L`` layers, ``N`` rows of the first folder, ``M`` of the second, ``D`` width.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.analysis.extracted import Extracted, common_layers
from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import refuse_files_above
from fairseq_xling.core.named_files import FILE, NEW_FILE, NEW_RESULTS, Input
from fairseq_xling.core.options import add_fields, argument, option
from fairseq_xling.core.progress import progress
from fairseq_xling.mapping.nearest import WAYS
from fairseq_xling.results.figure_file import WIDTHS

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.fitted import FittedMap
    from fairseq_xling.results.figure_file import Drawing

FORMAT = 1


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


@dataclasses.dataclass(frozen=True)
class _Folders:
    x: str = argument("folder written by `fairseq-xling extract`", Input("X"))
    y: str = argument("folder to compare it with", Input("Y"))
    layers: str | None = option(
        None, "such as 0,2-4 (default: all, equal in both folders)", metavar="LAYERS"
    )


@dataclasses.dataclass(frozen=True)
class ComparisonOptions(OutputOptions, _Folders):
    """What all comparisons have."""


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Those of verbs with nearest-neighbour search."""

    map: str | None = option(
        None, "map of X into the space of Y (`fairseq-xling map`)", metavar=FILE
    )
    nearest: str = option(",".join(WAYS), "nearest-neighbour criteria", metavar="WAYS")
    k: int = shared.neighbours()


def add_output(parser: argparse.ArgumentParser) -> None:
    """`OutputOptions` of a verb that declares its arguments itself."""
    add_fields(parser, OutputOptions)


@dataclasses.dataclass(frozen=True)
class Sides:
    """What is compared.

    Attributes:
        x, y: the two folders.
        wanted: layers as the user named them, or None for all.
        mapping: the map into one space, if a file was given.
    """

    x: Extracted
    y: Extracted
    wanted: str | None = None
    mapping: FittedMap | None = None

    @cached_property
    def layers(self) -> Sequence[int]:
        """The layers to compare, the same for both sides; errors as `common_layers`."""
        return common_layers(self.x, self.y, self.wanted)

    @property
    def pair(self) -> str:
        """The two languages."""
        return f"{self.x.lang}-{self.y.lang}"

    def rows(self, layer: int) -> tuple[Tensor, Tensor]:
        """All rows of a layer in one space: (N, E) and (M, E)."""
        return self.in_common(self.x.whole(layer), self.y.whole(layer), layer)

    def in_common(self, x: Tensor, y: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Rows (n, D) and (m, D) of a layer in one space: (n, E) and (m, E); errors as `rows`."""
        if self.mapping is not None:
            x, y = self.mapping.apply(x, layer), self.mapping.fixed(y, layer)
        elif x.shape[1] != y.shape[1]:
            raise UserError(
                f"{self.x.path} and {self.y.path}: widths must be equal, or a map must be given, "
                f"got {x.shape[1]} and {y.shape[1]}"
            )
        return x, y

    def by_layer(self, what: str) -> Iterator[tuple[Tensor, Tensor]]:
        """`rows` of each layer, with a progress bar if that takes long."""
        with progress(len(self.layers), what, "layers", checks=True) as bar:
            for layer in self.layers:
                yield self.rows(layer)
                bar.update()


@dataclasses.dataclass
class Comparison:
    """The result of a comparison.

    Attributes:
        title: heading of the table, with what was measured on what.
        layers: (L,).
        curves: by name, a value for each layer.
        headline: the main curve.
        unit: of the values, as figures are labelled.
        panels: of the figure: by title, the names of the curves to draw.
        chance: the value at chance level; chance_is: its name.
        matrix: a value for each layer of x (rows) and each of y (columns), if requested.
        notes: what a reader needs to interpret the figures.
        details: anything else (JSON values).
    """

    title: str
    layers: Sequence[int]
    curves: dict[str, list[float]]
    headline: str
    unit: str
    panels: dict[str, list[str]]
    chance: float | None = None
    chance_is: str | None = None
    matrix: list[list[float]] | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    details: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """The mean over the layers of each curve."""
        return {name: sum(values) / len(values) for name, values in self.curves.items() if values}


def run_comparison(
    measure: str, options: ComparisonOptions, compare: Callable[[Sides, Any], Comparison]
) -> None:
    """Compare two folders, print the table, and write the results.

    Args:
        measure: the name in the file of the results.
    """
    from fairseq_xling.verbs.parts.eval_result import (
        curve_table,
        draw_curves,
        draw_matrix,
        matrix_table,
    )

    check_output(options)
    x, y = Extracted(options.x), Extracted(options.y)
    files = {"X": x.path / "meta.json", "Y": y.path / "meta.json"}
    mapping = None
    if getattr(options, "map", None):
        from fairseq_xling.mapping.fitted import read_map

        mapping = read_map(options.map)
        files["map"] = Path(options.map)
    for name in ("dictionary", "alignments"):
        if getattr(options, name, None):
            files[name] = Path(getattr(options, name))
    sides = Sides(x, y, options.layers, mapping)
    with about(x.path, y.path):
        found = compare(sides, options)
    if mapping is not None:
        found.notes += [*_other_languages(mapping, x, y), *_same_texts(mapping, x, y)]
    record = {
        "measure": measure,
        "folders": [str(x.path), str(y.path)],
        "pair": sides.pair,
        **dataclasses.asdict(found),
        "layers": list(found.layers),
        "means": found.means,
        "matrix_layers": [list(side.layers) for side in (x, y)],
    }
    header, rows = matrix_table(record) if found.matrix is not None else curve_table(record)
    draw = draw_curves if found.matrix is None else draw_matrix
    figure = partial(draw, record) if options.figure else None
    finish(options, found.title, header, rows, found.notes, record, files, figure)


def _other_languages(mapping: FittedMap, x: Extracted, y: Extracted) -> list[str]:
    """A note for each side that the map was not fitted for."""
    sides = {"moving": x, "fixed": y}
    langs = {side: mapping.other_language(folder.lang, side) for side, folder in sides.items()}
    return [
        f"WARNING: {sides[side].path} is of {sides[side].lang!r}, the map's {side} side of {lang!r}"
        for side, lang in langs.items()
        if lang is not None
    ]


def _same_texts(mapping: FittedMap, x: Extracted, y: Extracted) -> list[str]:
    """A note if the map was fitted on the very rows that are compared."""
    from fairseq_xling.mapping.pairs import text_keys

    if not mapping.fitted_on(text_keys(x, y)):
        return []
    return [f"WARNING: the map was fitted on these {x.unit}; measure it on other text"]


def check_output(args: Any) -> None:
    """Reject names of files that cannot be written, before anything is computed."""
    from fairseq_xling.results.figure_file import check_figure

    if args.output and Path(args.output).suffix != ".json":
        raise UserError(f"`--output` must end in .json, got {args.output!r}")
    if args.figure:
        check_figure(args.figure)
    for which, name in (("output", args.output), ("figure", args.figure)):
        if name and Path(name).is_dir():
            raise UserError(f"`--{which}` {name}: is a folder, not a file")
        if name:
            refuse_files_above(f"--{which}", name)


def finish(
    args: Any,
    title: str,
    header: list[str],
    rows: list[list[Any]],
    notes: list[str],
    record: dict[str, Any],
    files: dict[str, Path],
    figure: Drawing | None,
) -> None:
    """Print the table; write results with their provenance, the table as CSV, and the figure."""
    from fairseq_xling.core.files import write_json
    from fairseq_xling.core.provenance import provenance
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
