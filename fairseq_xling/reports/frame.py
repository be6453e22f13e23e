"""Rows as frames of pandas."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.record import find_records
from fairseq_xling.reports.rows import COLUMNS


def make_frame(rows: Iterable[Mapping[str, Any]], **common: Any) -> pandas.DataFrame:
    """The frame of ``rows``; what one does not name is None.

    Args:
        common: values by column that all of them have.

    >>> frame = make_frame([{"row": "a", "value": 1}, {"row": "b", "epoch": 2}], study="s")
    >>> frame[["study", "row", "value", "epoch"]].values.tolist()
    [['s', 'a', 1, None], ['s', 'b', None, 2]]
    """
    every = [{**common, **one} for one in rows]
    names = dict.fromkeys([*COLUMNS, *(name for row in every for name in row)])
    return pandas.DataFrame([[row.get(n) for n in names] for row in every], None, names, object)


def rows_of(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame; None and NaN have no column."""
    return [
        {name: value for name, value in one.items() if value is not None and value == value}
        for one in frame.to_dict("records")
    ]


def read_study(folder: str | Path) -> pandas.DataFrame:
    """What a finished run or a measure measured, unrounded: a row for each value.

    Args:
        folder: of a run or a study, with its ``results.json``; or a JSON file of results, such as
            that of `fairseq-xling eval`.

    Returns:
        A frame with the columns of `COLUMNS` and those of the study. Its ``attrs`` name the
        ``title``, the paper that is its ``source``, and the ``command`` that made it.

    Raises:
        UserError: if there are no results, or those of several measures, or if they are damaged.
    """
    path = arguments.path("folder", folder)
    if not path.exists():
        raise UserError(f"{path}: no such folder or file of results")
    records = find_records(path)
    if len(records) > 1:
        names = ", ".join(record.path.name for record in records if record.path)
        raise UserError(f"{path}: contains several files of results, name one of them: {names}")
    (record,) = records
    frame = record.frame
    frame.attrs = {"title": record.title, "source": record.source, "command": record.command}
    return frame
