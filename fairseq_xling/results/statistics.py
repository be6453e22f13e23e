"""Figures over seeds: every value is kept, mean and deviation are what is shown."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Mean and sample standard deviation over seeds.

    >>> mean_and_spread([0.1, 0.2, 0.3], 2), mean_and_spread([0.5], 3)
    ('0.20 ± 0.10', '0.500')
    """
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


@dataclass(frozen=True)
class OverSeeds:
    """A cell of a table: a figure of each seed.

    Attributes:
        values: one for each seed; there is at least one.
        digits: after the decimal point, where it is shown.
        signed: whether it is a difference, shown with its sign.

    >>> str(OverSeeds((0.1, 0.2, 0.3), 2)), str(OverSeeds((1.25,), 1, signed=True))
    ('0.20 ± 0.10', '+1.2')
    """

    values: tuple[float, ...]
    digits: int
    signed: bool = False

    @classmethod
    def of(cls, values: Sequence[float], digits: int, signed: bool = False) -> "OverSeeds | None":
        """The cell of ``values``; None, an empty cell, if nothing was measured."""
        return cls(tuple(values), digits, signed) if len(values) else None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """The sample standard deviation, None of one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def __str__(self) -> str:
        sign = "+" if self.signed and self.mean >= 0 else ""
        return sign + mean_and_spread(self.values, self.digits)

    def record(self) -> dict[str, Any]:
        """As JSON; `read_cell` is the way back."""
        return {"values": list(self.values), "digits": self.digits, "signed": self.signed}


def merge_seeds(
    header: Sequence[str], rows: Sequence[Sequence[Any]], digits: Sequence[int]
) -> tuple[list[str], list[list[Any]]]:
    """A table in which rows that differ by their ``seed``, and by figures, have become one.

    Args:
        digits: of the last columns, which hold figures or None; those before tell rows apart. A
            figure that some seed lacks is left out.

    >>> rows = [["de", 1, 2.0, None], ["de", 2, 3.0, 8.0], ["fr", 1, 5.0, 7.0]]
    >>> header, rows = merge_seeds(["target", "seed", "BLEU", "chrF"], rows, [2, 1])
    >>> header, [[str(cell) for cell in row] for row in rows]
    (['target', 'seeds', 'BLEU', 'chrF'], [['de', '1,2', '2.50 ± 0.71', 'None'], \
['fr', '1', '5.00', '7.0']])
    """
    place, first = header.index("seed"), len(header) - len(digits)
    groups: dict[tuple[Any, ...], list[Sequence[Any]]] = {}
    for row in rows:
        told = (*row[:place], *row[place + 1 : first])
        groups.setdefault(told, []).append(row)
    merged = []
    for told, own in groups.items():
        figures = [
            None if None in column else OverSeeds(column, number)
            for column, number in zip(list(zip(*own, strict=True))[first:], digits, strict=True)
        ]
        seeds = ",".join(str(row[place]) for row in own)
        merged.append([*told[:place], seeds, *told[place:], *figures])
    return [*header[:place], "seeds", *header[place + 1 :]], merged


def read_cell(value: Any) -> Any:
    """A cell of a table as it was before it became JSON."""
    if isinstance(value, Mapping):
        return OverSeeds(tuple(value["values"]), value["digits"], value["signed"])
    return value
