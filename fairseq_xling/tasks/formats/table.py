"""Parquet and Arrow files: one or two texts and a label in columns of any name.

`--columns` names them, as in ``text=premise,pair=hypothesis,label=label``; without it they are
``text`` and ``label``. A label is a text, a class whose name the file holds (as those of Hugging
Face's datasets do), or a whole number; a missing one, ``-``, or no such column mean no label (a
column that `--columns` names must be there). Predictions are written as JSON lines with these
columns.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fairseq_xling.columns import check_text, column_type, schema_of
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files
from fairseq_xling.json_fields import get_value
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.json_lines import JsonLines, ObjectItem, keys_of, label_of
from fairseq_xling.tasks.rows import table_rows


@formats.register("table")
class Table(JsonLines):
    """See the module's docstring; a file is an Arrow one unless its name ends in ``.parquet``."""

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ObjectItem]:
        """See `Format`; lines are rows, from 1."""
        keys = keys_of(columns)
        check_files(path)
        schema = schema_of(path)
        texts = [keys[field] for field in ("text", "pair") if field in keys]
        for column in texts:
            check_text(path, column, schema)
        labelled = "label" in columns or keys["label"] in schema.names
        wanted = [*texts, keys["label"]] if labelled else texts
        if labelled:
            _check_label(path, keys["label"], schema)
        line = 0
        for line, given in table_rows(path, wanted, schema):
            with one_row():
                where = f"{path}:{line}"
                found = tuple(get_value(where, given, column, str) for column in texts)
                label = label_of(where, given.get(keys["label"]), keys["label"])
                yield ObjectItem(str(path), line, found, label, (), None, None, given)
        if not line:
            raise UserError(f"{path}: contains no rows")


def _check_label(path: Path, column: str, schema: object) -> None:
    from pyarrow import types

    found = column_type(path, column, schema)
    if not (types.is_integer(found) or types.is_null(found)):
        check_text(path, column, schema)
