"""What a finished run measured, as a frame of pandas."""

from pathlib import Path

import pandas

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.record import find_records


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
