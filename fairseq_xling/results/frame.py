"""Results as one frame of pandas: a row for each measurement, and the tables pivoted from it.

Every frame has the columns of `COLUMNS`, and whatever its study adds to tell measurements apart.
Values are as they were measured: counts stay whole numbers, and what was not measured is None.
"""

import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas

from fairseq_xling.results.statistics import OverSeeds

COLUMNS = (
    *("paper", "study", "row", "source", "target", "seed", "layer", "task"),
    *("measure", "value", "chance", "unit"),
)
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]


def make_frame(measurements: Iterable[Mapping[str, Any]], **common: Any) -> pandas.DataFrame:
    """The frame of ``measurements``, each by column; what one does not name is None.

    Args:
        common: values by column that all of them have.

    >>> frame = make_frame([{"row": "a", "value": 1}, {"row": "b", "epoch": 2}], study="s")
    >>> frame[["study", "row", "value", "epoch"]].values.tolist()
    [['s', 'a', 1, None], ['s', 'b', None, 2]]
    """
    rows = [{**common, **one} for one in measurements]
    names = dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)])
    return pandas.DataFrame([[row.get(n) for n in names] for row in rows], None, names, object)


def frame_to_json(frame: pandas.DataFrame) -> dict[str, Any]:
    """The frame by column: the one value that all rows have, or a list of values; where few values
    are repeated, these with the place of each row's among them.

    >>> frame = make_frame({"row": "aab"[n], "value": n} for n in range(3))
    >>> frame_to_json(frame[["row", "value", "unit"]])["columns"]
    {'row': {'of': ['a', 'b'], 'rows': '0 0 1'}, 'value': [0, 1, 2], 'unit': None}
    """
    columns: dict[str, Any] = {}
    for name in frame.columns:
        values = frame[name].tolist()
        places: dict[Any, int] = {}
        rows = [places.setdefault((type(one), one), len(places)) for one in values]
        known = [value for _, value in places]
        if len(known) == 1:
            columns[name] = known[0]
        elif 1.5 * len(known) <= len(values):
            columns[name] = {"of": known, "rows": " ".join(map(str, rows))}
        else:
            columns[name] = values
    return {"rows": len(frame), "columns": columns}


def frame_from_json(record: Mapping[str, Any]) -> pandas.DataFrame:
    """The way back from `frame_to_json`.

    Raises:
        ValueError: for a column of another length, or one that every frame has missing.
    """
    count, values = record["rows"], {}
    for name in [*COLUMNS, *sorted(record["columns"].keys() - set(COLUMNS))]:
        found = record["columns"][name]
        if isinstance(found, Mapping):
            found = [found["of"][int(place)] for place in found["rows"].split()]
        values[name] = found if isinstance(found, list) else [found] * count
        if len(values[name]) != count:
            raise ValueError(f"{len(values[name])} values of {name!r} in {count} rows")
    return pandas.DataFrame(values, dtype=object)


def split(frame: pandas.DataFrame, column: str) -> Iterator[tuple[Any, pandas.DataFrame]]:
    """The rows of each value of ``column``, in the order in which they first appear."""
    for value in dict.fromkeys(frame[column]):
        yield value, frame[frame[column].isna() if value is None else frame[column] == value]


def arranged(frame: pandas.DataFrame, *columns: str) -> pandas.DataFrame:
    """The rows by the values of ``columns``, in the order in which these first appear together."""
    keys = list(frame[list(columns)].itertuples(index=False, name=None))
    order = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    return frame.iloc[sorted(range(len(keys)), key=lambda n: order[keys[n]])]


def by_seed(frame: pandas.DataFrame, *columns: str) -> dict[tuple[Any, ...], dict[Any, float]]:
    """By the values of ``columns``, the figure of each seed: the mean over all other columns."""
    found: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for *key, seed, value in frame[[*columns, "seed", "value"]].itertuples(index=False, name=None):
        if value is not None:
            found.setdefault(tuple(key), {}).setdefault(seed, []).append(value)
    return {
        key: {seed: statistics.fmean(values) for seed, values in seeds.items()}
        for key, seeds in found.items()
    }


def figures(frame: pandas.DataFrame, *columns: str) -> dict[tuple[Any, ...], list[float]]:
    """The figures of `by_seed`, without their seeds.

    >>> rows = [("de", 1, 0.5), ("fr", 1, 1.5), ("de", 2, 3.0), ("fr", 2, 5.0)]
    >>> frame = make_frame({"row": "a", "target": t, "seed": s, "value": v} for t, s, v in rows)
    >>> figures(frame, "row"), figures(frame, "row", "target")[("a", "de")]
    ({('a',): [1.0, 4.0]}, [0.5, 3.0])
    """
    return {key: list(seeds.values()) for key, seeds in by_seed(frame, *columns).items()}


def pivot(
    frame: pandas.DataFrame,
    rows: Mapping[str, str],
    column: str = "measure",
    *,
    order: Sequence[str] = (),
    digits: int | Mapping[str, int] = 3,
    signed: Collection[str] = (),
) -> tuple[list[str], list[list[Any]]]:
    """A table with a figure over seeds in each cell, empty where nothing was measured.

    Args:
        rows: the columns of ``frame`` that tell rows of the table apart, by their headings.
        column: whose values are the further headings.
        order: of these headings (default: as they first appear).
        digits: after the point, by heading, or of all.
        signed: headings of differences, shown with their sign.
    """
    found = figures(frame, *rows.values(), column)
    headings = order or list(dict.fromkeys(frame[column]))
    table = []
    for key in _keys(frame, rows):
        cells = [
            OverSeeds.of(
                found.get((*key, name), ()),
                digits if isinstance(digits, int) else digits[name],
                name in signed,
            )
            for name in headings
        ]
        table.append([*key, *cells])
    return [*rows, *headings], table


def spread(
    frame: pandas.DataFrame,
    rows: Mapping[str, str],
    column: str = "measure",
    order: Sequence[str] = (),
) -> tuple[list[str], list[list[Any]]]:
    """A table of unrounded values, arguments as of `pivot`; ``rows`` tell seeds apart, too."""
    names = [*rows.values(), column, "value"]
    found = {tuple(key): v for *key, v in frame[names].itertuples(index=False, name=None)}
    headings = order or list(dict.fromkeys(frame[column]))
    keys = _keys(frame, rows)
    return [*rows, *headings], [[*key, *(found.get((*key, n)) for n in headings)] for key in keys]


def listed(
    frame: pandas.DataFrame, columns: Mapping[str, str] | Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """A table of the columns of ``frame`` as they are; by their headings, if these differ."""
    names = list(columns.values()) if isinstance(columns, Mapping) else list(columns)
    return list(columns), list(map(list, frame[names].itertuples(index=False, name=None)))


def _keys(frame: pandas.DataFrame, rows: Mapping[str, str]) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(frame[list(rows.values())].itertuples(index=False, name=None)))
