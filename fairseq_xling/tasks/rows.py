"""Rows of a table as objects: JSON lines, Parquet and Arrow files, as Hugging Face's datasets
writes them.

That library stores the names of classes with the numbers that a column holds; here the names are
read, and -1, its number of a class that is not given, as None.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.columns import TABLES, class_names, column_batches, schema_of, values_of
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files, read_lines
from fairseq_xling.json_fields import check_kind, parse_json
from fairseq_xling.tasks.bad_rows import one_row


def read_rows(
    path: Path, needed: Sequence[str], further: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each row, from 1, and its values, a few rows at a time.

    Args:
        needed: columns that must be there.
        further: columns that may be; other columns of a table are not read.

    Raises:
        UserError: for a missing or damaged file, one without rows, or a row of JSON that is no
            object; names the row.
    """
    check_files(path)
    line = 0
    rows = _of_table if path.suffix in TABLES else _of_objects
    for line, row in rows(path, needed, further):
        yield line, row
    if not line:
        raise UserError(f"{path}: contains no rows")


def strings_of(where: str, row: Mapping[str, Any], column: str) -> list[str]:
    """The texts of a list.

    Raises:
        UserError: for anything else, or an empty text; begins with ``where``.
    """
    texts = check_kind(where, row[column], f"`{column}`", list)
    return [check_kind(where, text, f"each of `{column}`", str) for text in texts]


def _of_objects(
    path: Path, needed: Sequence[str], further: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(read_lines(path), start=1):
        with one_row():
            where, row = f"{path}:{line}", parse_json(path, text, line)
            check_kind(where, row, "a row", dict)
            for column in needed:
                if column not in row:
                    known = ", ".join(row) or "nothing"
                    raise UserError(f"{where}: has no `{column}`, only {known}")
            yield line, row


def _of_table(
    path: Path, needed: Sequence[str], further: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    schema = schema_of(path)
    for column in needed:
        if column not in schema.names:
            raise UserError(f"{path}: has no column `{column}`, only {', '.join(schema.names)}")
    yield from table_rows(path, [*needed, *(c for c in further if c in schema.names)], schema)


def table_rows(
    path: Path, columns: Sequence[str], schema: Any
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each row of a Parquet or Arrow file, from 1, and its values by column.

    Raises:
        UserError: for a damaged file, or a class without a name; names the row.
    """
    names = {column: class_names(schema, column) for column in columns}
    for first, arrays in column_batches(path, columns):
        rows = zip(*map(values_of, arrays), strict=True)
        for line, row in enumerate(rows, start=first):
            where, cells = f"{path}:{line}", zip(columns, row, strict=True)
            with one_row():
                yield line, {column: named(where, x, names[column], column) for column, x in cells}


def named(where: str, value: Any, names: Sequence[str] | None, column: str) -> Any:
    """``value`` with the names of the classes whose numbers it holds, alone or in a list.

    >>> named("a.arrow:1", [1, -1], ["O", "B-PER"], "tags")
    ['B-PER', None]

    Raises:
        UserError: for a number without a name; begins with ``where``.
    """
    if names is not None and isinstance(value, list):
        return [named(where, one, names, column) for one in value]
    if names is None or not isinstance(value, int):
        return value
    if not -1 <= value < len(names):
        raise UserError(f"{where}: `{column}` must lie in [-1, {len(names) - 1}], got {value}")
    return None if value == -1 else names[value]
