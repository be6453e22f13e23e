"""Tables of rows: pivots with means and deviations over seeds, and contrasts with one line.

A `Table` is a declaration: it names columns of the rows, and `pivot` makes the table of any rows.
"""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairseq_xling.reports.rows import Row, columns_of, distinct, select, told

Shown = tuple[list[str], list[list[Any]]]
SEEDS = "seeds"  # stands for the seeds of a line
_DIGITS = 3


@dataclasses.dataclass(frozen=True)
class OverSeeds:
    """A cell: a value of each seed.

    Attributes:
        digits: after the decimal point, where it is shown.
        signed: whether it is a difference, shown with its sign.

    >>> str(OverSeeds((0.1, 0.2, 0.3), 2)), str(OverSeeds((1.25,), 1, signed=True))
    ('0.20 ± 0.10', '+1.2')
    """

    values: tuple[float, ...]
    digits: int = _DIGITS
    signed: bool = False

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """The sample standard deviation, None of one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def __str__(self) -> str:
        sign = "+" if self.signed and self.mean >= 0 else ""
        text = f"{sign}{self.mean:.{self.digits}f}"
        return text if self.spread is None else f"{text} ± {self.spread:.{self.digits}f}"


@dataclasses.dataclass(frozen=True)
class Contrast:
    """Columns of differences of each line to one line.

    Attributes:
        to: the value of the table's first column that the line has.
        column: the headings, as `Table.column`; a difference is the mean over all headings of the
            table that share it.
        measures: of which (default: all).
    """

    to: Any
    column: str = "Δ {measure}"
    measures: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """A pivot, or, without ``column``, the rows as they are.

    Wherever a column of the rows is named, words with columns in braces may stand: ``"{measure},
    {target}"``.

    Attributes:
        rows: what tells lines apart, by heading; `SEEDS` stands for the seeds that a line has.
        column: whose values are the further headings.
        where: which rows, see `rows.select`.
        order: of these headings (default: as they first appear).
        digits: after the point: of all, or by heading or measure, with ``"*"`` for others; None
            for a whole number, the rounded mean.
        signed: headings or measures that are differences, shown with their sign.
        after: columns of a line's first row that follow, by heading.
        contrast: differences to a line.
        mean: whether a last line has the means of the others.
    """

    rows: Mapping[str, str]
    column: str = "measure"
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    order: Sequence[str] = ()
    digits: int | Mapping[str, int | None] | None = _DIGITS
    signed: Sequence[str] = ()
    after: Mapping[str, str] = dataclasses.field(default_factory=dict)
    contrast: Contrast | None = None
    mean: bool = False


def pivot(rows: Sequence[Row], table: Table) -> Shown:
    """Header and lines of a table; an empty cell, None, where nothing was measured."""
    own = select(rows, table.where)
    if not table.column:
        return list(table.rows), [[told(row, of) for of in table.rows.values()] for row in own]
    lines: dict[tuple[Any, ...], list[Row]] = {}
    keys = {name: of for name, of in table.rows.items() if of != SEEDS or _is_column(own, SEEDS)}
    for row in own:
        lines.setdefault(tuple(told(row, of) for of in keys.values()), []).append(row)
    measures = {told(row, table.column): row.get("measure") for row in reversed(own)}
    headings = list(table.order) or distinct(own, table.column)
    cells = {key: _cells(found, table, measures) for key, found in lines.items()}
    header, body = [*table.rows, *headings, *table.after], []
    for key, found in lines.items():
        seeds = ",".join(str(one) for one in distinct(found, "seed") if one is not None)
        known = dict(zip(keys, key, strict=True))
        begin = [known.get(name, seeds) for name in table.rows]
        end = [found[0].get(of) for of in table.after.values()]
        body.append([*begin, *(cells[key].get(name) for name in headings), *end])
    if table.mean and len(body) > 1:
        body.append(_means(body, len(table.rows), len(headings)))
    if table.contrast is not None:
        return _contrasted((header, body), own, table.column, table.contrast, list(lines))
    return header, body


def _is_column(rows: Iterable[Row], name: str) -> bool:
    return any(name in row for row in rows)


def _cells(rows: Iterable[Row], table: Table, measures: Mapping[str, Any]) -> dict[str, Any]:
    """By heading the cell of a line."""
    found: dict[str, dict[Any, list[Any]]] = {}
    for row in rows:
        if row.get("value") is not None:
            seeds = found.setdefault(told(row, table.column), {})
            seeds.setdefault(row.get("seed"), []).append(row["value"])
    return {
        name: cell(
            seeds,
            digits_of(table, name, measures),
            name in table.signed or measures.get(name) in table.signed,
        )
        for name, seeds in found.items()
    }


def digits_of(table: Table, heading: str, measures: Mapping[str, Any]) -> int | None:
    """How many digits a heading's figures have."""
    if not isinstance(table.digits, Mapping):
        return table.digits
    for name in (heading, str(measures.get(heading)), "*"):
        if name in table.digits:
            return table.digits[name]
    return _DIGITS


def cell(seeds: Mapping[Any, Sequence[Any]], digits: int | None, signed: bool = False) -> Any:
    """A cell of values by seed: a text, a whole number, or the figure of each seed.

    >>> cell({1: [2.0, 4.0], 2: [5.0]}, 1), cell({None: [7]}, 1), cell({1: [1.2], 2: [2.1]}, None)
    (OverSeeds(values=(3.0, 5.0), digits=1, signed=False), 7, 2)
    """
    values = [one for each in seeds.values() for one in each]
    if any(isinstance(one, str) for one in values):
        return ", ".join(str(one) for one in dict.fromkeys(values))
    if digits is None:
        return round(statistics.fmean(values))
    if len(values) == 1 and isinstance(values[0], int):
        return values[0]
    return OverSeeds(tuple(map(statistics.fmean, seeds.values())), digits, signed)


def _mean(value: Any) -> float | None:
    if isinstance(value, OverSeeds):
        return value.mean
    return float(value) if isinstance(value, int | float) else None


def _means(body: Sequence[Sequence[Any]], first: int, count: int) -> list[Any]:
    line: list[Any] = ["mean", *[None] * (len(body[0]) - 1)]
    for place in range(first, first + count):
        values = [mean for row in body if (mean := _mean(row[place])) is not None]
        if values:
            digits = next((r[place].digits for r in body if isinstance(r[place], OverSeeds)), 3)
            line[place] = OverSeeds((statistics.fmean(values),), digits)
    return line


def _contrasted(
    shown: Shown,
    rows: Sequence[Row],
    column: str,
    contrast: Contrast,
    keys: Sequence[tuple[Any, ...]],
) -> Shown:
    """The table with the columns of a contrast, each after the last that it is of."""
    header, body = shown
    base = next((n for n, key in enumerate(keys) if key[0] == contrast.to), None)
    groups: dict[str, list[str]] = {}
    for row in rows:
        if not contrast.measures or row.get("measure") in contrast.measures:
            heading = told(row, column)
            group = groups.setdefault(told(row, contrast.column), [])
            if heading in header and heading not in group:
                group.append(heading)
    if base is None or len(body) < 2:
        return header, body
    for heading, of in groups.items():
        places = [header.index(name) for name in of]
        if not places:
            continue
        signed: list[OverSeeds | None] = []
        for line in body:
            both = [(_mean(line[place]), _mean(body[base][place])) for place in places]
            gaps = [a - b for a, b in both if a is not None and b is not None]
            digits = next(
                (line[p].digits for p in places if isinstance(line[p], OverSeeds)), _DIGITS
            )
            signed.append(OverSeeds((statistics.fmean(gaps),), digits, True) if gaps else None)
        place = max(places) + 1
        header = [*header[:place], heading, *header[place:]]
        body = [[*line[:place], one, *line[place:]] for line, one in zip(body, signed, strict=True)]
    return header, body


def plain_table(rows: Sequence[Row]) -> Table:
    """The table of rows of which nothing else is said: what differs between them tells lines
    apart, and a column is a measure."""
    names = [
        name
        for name in columns_of(rows)
        if name not in ("measure", "value", "chance", "unit", "seed", "paper", "study")
        and len({str(row.get(name)) for row in rows}) > 1
    ]
    return Table({name: name for name in names} or {"row": "row"})
