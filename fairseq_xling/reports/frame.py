"""Rows as frames of pandas."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas

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
