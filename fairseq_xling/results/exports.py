"""Results for other programs: as frames of pandas, and as lines of JSON, an object for each score.

Every table of a page becomes objects with the same keys, whatever the kind of its run:

    {"run": ..., "kind": ..., "table": ..., "model": ..., "seed": ..., "task": ..., "language": ...,
     "metric": ..., "value": ..., "details": {...}, "provenance": {...}}

A key is null if the run does not say. ``value`` is unrounded, in the unit of the page; ``details``
are the other columns of the score's row, such as its layer or the score of chance.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.results.page import Page, Result, Table
from fairseq_xling.results.result import find_results, kind_of, make_page

FIRST = "table"  # what a kind with a main table calls it

# What the columns of tables are called that name each key.
_NAMES = {
    "model": ("model", "encoder", "checkpoint", "row", "setting", "probe", "network", "training"),
    "seed": ("seed",),
    "language": ("language", "target", "pair"),
    "metric": ("measure", "figure"),
}
# Numbers that describe a score, and are none.
_DETAILS = frozenset(
    "alpha chance candidates delta devices epoch from gold layer number pairs paper parameters "
    "place points predicted rank right seconds seeds sentences step steps to tokens trained update "
    "window word_layer".split()
)
# Tables of many numbers that are drawn, and of which none is a result by itself.
_DRAWN = frozenset(["cost", "curves", "histogram", "neighbours", "points", "training"])
_VALUE = "value"


def read_study(folder: str | Path, table: str | None = None) -> pandas.DataFrame:
    """The numbers that a finished run measured, unrounded: a row for each seed, a column each.

    Args:
        folder: of a run or a study, with its ``results.json``; or a JSON file of results, such as
            that of `fairseq-xling eval`.
        table: which of its tables, named as their CSV files are (default: "table", or the first
            where none is named so).

    Returns:
        The table. Its ``attrs`` name the ``kind`` of result, its ``title``, the paper that is its
        ``source``, the ``command`` that made it, and all ``tables`` there are.

    Raises:
        UserError: if there are no results, or those of several measures, if they are damaged, or
            if there is no such table.
    """
    path = arguments.path("folder", folder)
    if not path.exists():
        raise UserError(f"{path}: no such folder or file of results")
    results = find_results(path)
    if len(results) > 1:
        names = ", ".join(result.path.name for result in results)
        raise UserError(f"{path}: contains several files of results, name one of them: {names}")
    (result,) = results
    page = make_page(result, figures=False)
    tables = list(page.tables)
    if not tables:
        raise UserError(f"{result.path}: contains no table")
    if table is None:
        table = FIRST if FIRST in tables else tables[0]
    if table not in tables:
        raise unknown_name("table", table, tables)
    header, rows = page.tables[table]
    found = pandas.DataFrame([list(row) for row in rows], columns=list(header))
    found.attrs = {
        **{"kind": kind_of(result.record), "title": page.title, "source": page.source},
        **{"command": result.command, "tables": tables},
    }
    return found


def write_lines(path: str | Path, pages: Sequence[tuple[Result, Page]]) -> int:
    """Write every score of ``pages`` as a line, atomically; returns how many there are."""
    count = 0
    with atomic_write(path, "w") as file:
        for result, page in pages:
            for one in scores(result, page):
                file.write(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n")
                count += 1
    return count


def scores(result: Result, page: Page) -> Iterator[dict[str, Any]]:
    """The objects of a page, in the order of its tables."""
    origin = {
        "results": str(result.path),
        "command": result.command,
        "date": result.date,
        "machine": result.machine,
        "versions": dict(result.versions),
        "inputs": {role: one["sha256"] for role, one in result.inputs.items()},
    }
    record, kind = result.record, kind_of(result.record)
    pair = record["pair"] if isinstance(record.get("pair"), str) else None
    for name, table in page.tables.items():
        if name in _DRAWN:
            continue
        about = {"run": result.name, "kind": kind, "table": name}
        task = _task(record) or (kind if name == FIRST else name)
        for found in _melted(table):
            model, language = found["model"] or result.name, found["language"] or pair
            known = {"model": model, "language": language, "task": task, "provenance": origin}
            yield {**about, **found, **known}


def _task(record: Mapping[str, Any]) -> str | None:
    """The head, task or measure that a run names; without one, its tables do."""
    for fields in (record, record.get("config") or {}):
        for name in ("head", "task", "measure"):
            if isinstance(fields.get(name), str) and fields[name]:
                return fields[name]
    return None


def _melted(table: Table) -> Iterator[dict[str, Any]]:
    """An object for each score of a table.

    >>> row = ["A", "2", "de", 0, 0.5, 9]
    >>> list(_melted((["row", "seed", "target", "layer", "F1", "tokens"], [row])))[0]
    ... # doctest: +NORMALIZE_WHITESPACE
    {'model': 'A', 'seed': 2, 'language': 'de', 'metric': 'F1', 'value': 0.5,
     'details': {'layer': 0, 'tokens': 9}}
    """
    header, rows = table
    columns = {
        key: next((name for name in names if name in header), None) for key, names in _NAMES.items()
    }
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        named = {key: cells.pop(name) for key, name in columns.items() if name is not None}
        metric = named.pop("metric", None)
        seed = named.get("seed")
        about = {
            "model": named.get("model"),
            "seed": int(seed) if isinstance(seed, str) and seed.isdecimal() else seed,
            "language": named.get("language") or None,
        }
        # With a column for the value, all others describe it.
        found = {name for name in cells if _is_score(name, cells[name])}
        found = found & {_VALUE} if _VALUE in cells else found
        details = {
            name: cell for name, cell in cells.items() if name not in found and cell is not None
        }
        for name in (name for name in cells if name in found):
            what = metric if name == _VALUE and metric else name
            yield {**about, "metric": what, "value": cells[name], "details": details}


def _is_score(name: str, cell: Any) -> bool:
    number = isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell)
    return number and name not in _DETAILS
