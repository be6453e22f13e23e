"""Results of finished runs as tables of pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling import arguments
from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name
from fairseq_xling.results.result import find_results, kind_of, make_page

if TYPE_CHECKING:
    import pandas

FIRST = "table"  # what a kind with a main table calls it


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
        UserError: if there are no results, or those of several measures, if they are damaged, if
            there is no such table, and without pandas.
    """
    try:
        import pandas
    except ImportError:
        raise UserError(
            "`read_study` needs the library pandas: pip install 'fairseq_xling[pandas]'"
        ) from None
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
