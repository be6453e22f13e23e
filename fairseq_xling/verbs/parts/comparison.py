"""The verbs that compare two folders of `fairseq-xling extract`: options, tables and figures.

The folders may be of any two encoders, trained jointly or independently. A comparison is a function
``compare(sides, options) -> Comparison`` in the file of its verb; it never imports fairseq.

Symbols: ``L`` layers, ``N`` rows of the first folder, ``M`` of the second, ``D`` width.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.analysis.extracted import Extracted, common_layers
from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.named_files import FILE, Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.progress import progress
from fairseq_xling.mapping.nearest import WAYS
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.verbs.parts.output import OutputOptions, check_output, finish

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.fitted import FittedMap

LAYER = "layer (0 = embedding output)"
_EMERGING = "Emerging Cross-lingual Structure (Conneau et al., 2020)"
# Where the papers have a measure.
SOURCES = {
    "bli": f"{_EMERGING}, 5.1.1",
    "tatoeba": f"{_EMERGING}, 5.1.3",
    "cka": f"{_EMERGING}, 5.2 and Figure 7",
    "meanshift": "Pires et al. (2019), 5",
    "aligned": "TreLM (Li et al., 2021), Table 9",
}


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
        matrix: a value for each layer of x (rows) and each of y (columns), instead of curves.
        notes: what a reader needs to interpret the figures.
        facts: anything else.
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
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    def rows(self, sides: Sides) -> list[dict[str, Any]]:
        """What was measured, as rows of a record."""
        about: dict[str, Any] = {"source": sides.x.lang, "target": sides.y.lang}
        about["unit"] = self.unit
        if self.matrix is not None:
            (name,) = self.curves
            return [
                {**about, "layer": x, "layer of Y": y, "measure": name, "value": value}
                for x, values in zip(sides.x.layers, self.matrix, strict=True)
                for y, value in zip(sides.y.layers, values, strict=True)
            ]
        panels = {name: title for title, names in self.panels.items() for name in names}
        about |= {} if self.chance is None else {"chance": self.chance}
        return [
            {**about, "panel": panels.get(name), "layer": layer, "measure": name, "value": value}
            for name, values in self.curves.items()
            for layer, value in zip(self.layers, values, strict=True)
        ]

    def section(self, sides: Sides) -> Section:
        """Its table, and its figure."""
        if self.matrix is not None:
            table = Table({"layer of X": "layer"}, "Y {layer of Y}")
            chart = Chart("heat", row="layer", x="layer of Y", unit=self.unit)
            words = {"xlabel": "layer of Y ({target})", "ylabel": "layer of X ({source})"}
            return Section(
                "Every layer with every layer",
                table,
                dataclasses.replace(chart, **words),
                self.notes,
            )
        where = {"panel": list(self.panels)}
        chart = Chart("bars", where, row="measure", panel="unit", ylabel=self.unit)
        if len(self.layers) > 1:
            chart = Chart("curve", where, row="measure", panel="panel", ylabel=self.unit)
            said = f"{self.chance_is} ({{chance}})"
            chart = dataclasses.replace(chart, xlabel=LAYER, chance=said)
        return Section("By layer", Table({"layer": "layer"}, mean=True), chart, self.notes)


def run_comparison(
    measure: str, options: ComparisonOptions, compare: Callable[[Sides, Any], Comparison]
) -> None:
    """Compare two folders, print the table, and write the results.

    Args:
        measure: the name in the file of the results.
    """
    check_output(options)
    x, y = Extracted(options.x), Extracted(options.y)
    files = {"X": x.path / "meta.json", "Y": y.path / "meta.json"}
    mapping = None
    if getattr(options, "map", None):
        from fairseq_xling.mapping.fitted import read_map
        from fairseq_xling.mapping.pairs import text_keys

        mapping = read_map(options.map)
        files["map"] = Path(options.map)
    for name in ("dictionary", "alignments"):
        if getattr(options, name, None):
            files[name] = Path(getattr(options, name))
    sides = Sides(x, y, options.layers, mapping)
    with about(x.path, y.path):
        found = compare(sides, options)
    if mapping is not None:
        for side, folder in (("moving", x), ("fixed", y)):
            if (lang := mapping.other_language(folder.lang, side)) is not None:
                of = f"is of {folder.lang!r}, the map's {side} side of {lang!r}"
                found.notes.append(f"WARNING: {folder.path} {of}")
        if mapping.fitted_on(text_keys(x, y)):
            fitted = f"the map was fitted on these {x.unit}; measure it on other text"
            found.notes.append(f"WARNING: {fitted}")
    record = Record(
        found.title,
        [{"study": measure, **row} for row in found.rows(sides)],
        (found.section(sides),),
        source=SOURCES.get(measure, ""),
        lead=[f"Compared: {x.path} and {y.path}."],
        facts={"main curve": found.headline, **found.facts},
    )
    finish(options, record, files)
