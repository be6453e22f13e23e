"""Linear CKA between two folders: how similarly two encoders represent the same examples, by layer.

  fairseq-xling eval cka states/en states/de --output cka.json --figure cka.svg
  fairseq-xling eval cka states/en states/de --all-layers --figure layers.png

X and Y are folders of `fairseq-xling extract`, of any encoders and widths; row n of both is the
same example, usually a sentence and its translation. Memory does not grow with the number of rows.
"""

import dataclasses
import math
from functools import partial

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.core.progress import progress
from fairseq_xling.verbs.parts.comparison import (
    Comparison,
    ComparisonOptions,
    Sides,
    run_comparison,
)

GROUP = "Analyse"
# Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.2: the examples are parallel
# sentences there. N rows, D and E the two widths, K and J numbers of layers.


@dataclasses.dataclass(frozen=True)
class Options(ComparisonOptions):
    all_layers: bool = option(
        False,
        "every layer of X (rows) with every layer of Y (columns); the figure is a heat map",
    )


def run(options: Options) -> None:
    run_comparison("cka", options, compare)


def by_chance(rows: int, first: int, second: int) -> float:
    """CKA of independent Gaussians, to a good approximation: ``D / (N + D)`` for equal widths.

    ``E ||Y^T X||^2 = N D E`` and ``E ||X^T X||^2 = N D (N + D + 1)``; with few rows it is high.

    >>> round(by_chance(1000, 64, 64), 4)
    0.0602
    """
    return math.sqrt(first * second / ((rows + first) * (rows + second)))


def compare(sides: Sides, options: Options) -> Comparison:
    """CKA by layer; with ``options.all_layers`` also that of every layer with every layer."""
    from fairseq_xling.analysis.extracted import check_same_rows

    if options.all_layers and sides.wanted:
        raise UserError(
            f"`--all-layers` compares all, but `--layers` {sides.wanted} was also given"
        )
    check_same_rows(sides.x, sides.y)
    if sides.x.unit == "sentences":
        for folder in (sides.x, sides.y):
            folder.check_sentences()
    found = _matrix(sides) if options.all_layers else _curve(sides)
    chance = by_chance(sides.x.rows, sides.x.width, sides.y.width)
    found.chance, found.chance_is = chance, "CKA of independent Gaussians"
    found.notes = [f"independent Gaussian vectors of these widths would have CKA {chance:.3f}"]
    found.facts = {"rows": sides.x.rows, "widths": [sides.x.width, sides.y.width]}
    return found


def _curve(sides: Sides) -> Comparison:
    from fairseq_xling.analysis.cka import CKA

    curve: list[float] = []
    with progress(len(sides.layers), "eval cka", "layers", checks=True) as bar:
        for layer in sides.layers:
            sums = CKA()
            for x, y in zip(sides.x.blocks(layer), sides.y.blocks(layer), strict=True):
                sums.update(x, y)
            try:
                curve.append(sums.value())
            except UserError as error:
                raise UserError(f"{_names(sides)}: layer {layer}: {error}") from None
            bar.update()
    return Comparison(
        title=_title(sides),
        layers=sides.layers,
        curves={"CKA": curve},
        headline="CKA",
        unit="linear CKA",
        panels={"": ["CKA"]},
    )


def _matrix(sides: Sides) -> Comparison:
    from fairseq_xling.analysis.cka import cka_matrix

    rows, columns = sides.x.layers, sides.y.layers
    total = len(rows) * len(columns) + len(rows) + len(columns)
    blocks = [
        [partial(folder.blocks, layer) for layer in folder.layers] for folder in (sides.x, sides.y)
    ]
    with progress(total, "eval cka", "products", checks=True) as bar:
        try:
            matrix = cka_matrix(*blocks, bar.update).tolist()
        except UserError as error:
            raise UserError(f"{_names(sides)}: {error}") from None
    both = [layer for layer in rows if layer in columns]
    curve = [matrix[rows.index(layer)][columns.index(layer)] for layer in both]
    return Comparison(
        title=_title(sides) + ", every layer with every layer",
        layers=both,
        curves={"CKA": curve},
        headline="CKA",
        unit="linear CKA",
        panels={"": ["CKA"]},
        matrix=matrix,
    )


def _names(sides: Sides) -> str:
    return f"{sides.x.path} and {sides.y.path}"


def _title(sides: Sides) -> str:
    return f"Linear CKA {sides.pair} of {sides.x.rows:,} {sides.x.unit}"
