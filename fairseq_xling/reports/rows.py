"""What was measured, as tidy rows: a mapping of columns for each measurement.

`COLUMNS` are those that rows may have everywhere; a study adds others that tell its rows apart.
What a row does not name is None. Values are as they were measured: counts stay whole numbers.
"""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

COLUMNS = (
    *("paper", "study", "row", "source", "target", "seed", "layer", "task"),
    *("measure", "value", "chance", "unit"),
)
GIVEN = "*"  # in `select`: whatever is given
MOST_ROWS = 10_000_000
Row = Mapping[str, Any]
_NAMED = re.compile(r"\{(\w[\w |-]*)\}")


def select(rows: Iterable[Row], where: Mapping[str, Any]) -> list[Row]:
    """The rows whose columns have the values, or one of the values, of ``where``.

    >>> rows = [{"row": "a", "value": 1}, {"row": "b", "value": 2, "layer": 0}]
    >>> select(rows, {"row": ["a", "c"]}), select(rows, {"layer": GIVEN})
    ([{'row': 'a', 'value': 1}], [{'row': 'b', 'value': 2, 'layer': 0}])
    """
    found = list(rows)
    for name, value in where.items():
        found = [row for row in found if _fits(row.get(name), value)]
    return found


def _fits(value: Any, wanted: Any) -> bool:
    if wanted == GIVEN:
        return value is not None
    return value in wanted if isinstance(wanted, list | tuple) else value == wanted


def told(row: Row, words: str) -> Any:
    """The value of the column ``words``; or, if it has braces, the text that it says of ``row``,
    without commas at its ends, where something is not given. Of ``{a|b}`` it is the first column
    that is given.

    >>> row = {"measure": "P@1", "target": "de", "chance": 0.00125, "words": 5000}
    >>> told(row, "target"), told(row, "{measure}, {target}"), told(row, "chance {chance}")
    ('de', 'P@1, de', 'chance 0.00125')
    >>> told(row, "{words} words"), told(row, "{measure}, {none}")
    ('5,000 words', 'P@1')
    >>> told(row, "{target|measure}"), told({"measure": "gap"}, "{target|measure}")
    ('de', 'gap')
    """
    if "{" not in words:
        return row.get(words)
    return _NAMED.sub(lambda match: _shown(_first(row, match[1])), words).strip(", ")


def _first(row: Row, names: str) -> Any:
    return next((row[name] for name in names.split("|") if row.get(name) is not None), None)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def distinct(rows: Iterable[Row], words: str) -> list[Any]:
    """What `told` says of the rows, each once, in the order in which it first appears."""
    return list(dict.fromkeys(told(row, words) for row in rows))


def arranged(rows: Sequence[Row], *columns: str) -> list[Row]:
    """The rows by the values of ``columns``, in the order in which these first appear together."""
    keys = [tuple(row.get(name) for name in columns) for row in rows]
    order = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    return [rows[n] for n in sorted(range(len(rows)), key=lambda n: order[keys[n]])]


def by_seed(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """By what `told` says by ``columns``, the value of each seed: the mean over all other columns.

    >>> rows = [("de", 1, 0.5), ("fr", 1, 1.5), ("de", 2, 3.0), ("fr", 2, 5.0)]
    >>> rows = [{"target": target, "seed": seed, "value": value} for target, seed, value in rows]
    >>> by_seed(rows), by_seed(rows, "target")[("de",)]
    ({(): {1: 1.0, 2: 4.0}}, {1: 0.5, 2: 3.0})
    """
    found: dict[tuple[Any, ...], dict[Any, list[Any]]] = {}
    for row in rows:
        if row.get("value") is not None:
            key = tuple(told(row, name) for name in columns)
            found.setdefault(key, {}).setdefault(row.get("seed"), []).append(row["value"])
    return {
        key: {seed: _mean(values) for seed, values in seeds.items()} for key, seeds in found.items()
    }


def _mean(values: Sequence[Any]) -> Any:
    if len(values) == 1 or any(isinstance(value, str) for value in values):
        return values[0]
    return statistics.fmean(values)


def figures(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Any]]:
    """The values of `by_seed`, without their seeds."""
    return {key: list(seeds.values()) for key, seeds in by_seed(rows, *columns).items()}


def columns_of(rows: Iterable[Row]) -> list[str]:
    """The columns that some row gives, those of `COLUMNS` first."""
    given = {name: None for row in rows for name, value in row.items() if value is not None}
    return [*(name for name in COLUMNS if name in given), *(n for n in given if n not in COLUMNS)]


def to_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The rows by column: the one value that all have, or a list of values; where few values are
    repeated, these with the place of each row's among them.

    >>> rows = [{"row": "aab"[n], "value": n, "study": "s"} for n in range(3)]
    >>> to_json(rows)["columns"]
    {'study': 's', 'row': {'of': ['a', 'b'], 'at': '0 0 1'}, 'value': [0, 1, 2]}
    """
    columns: dict[str, Any] = {}
    for name in columns_of(rows):
        values = [row.get(name) for row in rows]
        places: dict[Any, int] = {}
        at = [places.setdefault((type(one), one), len(places)) for one in values]
        known = [value for _, value in places]
        if len(known) == 1:
            columns[name] = known[0]
        elif 1.5 * len(known) <= len(values):
            columns[name] = {"of": known, "at": " ".join(map(str, at))}
        else:
            columns[name] = values
    return {"count": len(rows), "columns": columns}


def from_json(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The way back from `to_json`; None has no column.

    Raises:
        ValueError, KeyError, TypeError: if it is damaged.
    """
    count, columns = record["count"], {}
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_ROWS:
        raise ValueError(f"`count` must be a whole number from 0 to {MOST_ROWS:,}, got {count!r}")
    for name, found in record["columns"].items():
        if isinstance(found, Mapping):
            found = [found["of"][int(place)] for place in found["at"].split()]
        if not isinstance(found, list):
            found = [found] * count
        if len(found) != count:
            raise ValueError(f"column {name!r} has {len(found):,} values of {count:,} rows")
        for value in found:
            if value is not None and not isinstance(value, str | int | float):
                raise TypeError(f"column {name!r} must hold texts and numbers, got {value!r}")
        columns[name] = found
    return [
        {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*columns.values(), strict=True)
    ]
