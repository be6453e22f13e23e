"""The contents of an annotated file: one item for each sentence, pair, tree or question.

Readers enclose what concerns one row (a sentence, a question) in `one_row`, so that up to a number
of those that cannot be read are left out; what concerns the whole file stays outside and always
ends the reading. Rows of a table as objects are JSON lines, Parquet and Arrow files, as Hugging
Face's datasets writes them: that library stores the names of classes with the numbers that a column
holds; here the names are read, and the numbers of `UNLABELLED` stay.
"""

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_kind, names_in
from fairseq_xling.core.columns import TABLES, class_names, column_batches, schema_of, values_of
from fairseq_xling.core.dataset_folders import files_of
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, parse_json
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.texts import read_lines

# Numbers of no class: of one that is not given in Hugging Face's datasets, and of a target that
# torch's loss leaves out, as for the further subwords of a word.
UNLABELLED = ("-1", "-100")


@dataclass(frozen=True)
class Item:
    """The fields that all items have in common.

    Attributes:
        path, line: its location; lines count from 1.
    """

    path: str
    line: int

    @property
    def place(self) -> str:
        """``file:line``, for messages."""
        return f"{self.path}:{self.line}"

    def place_of(self, number: int) -> str:
        """The location of its label of that number, from 0; for items of several lines."""
        return self.place


def parse_files(option: str, text: str) -> list[tuple[str, Path]]:
    """Items ``LANG=FILE`` separated by commas; a folder of Hugging Face's datasets is its files.

    >>> parse_files("--train-file", "en=a.tsv,de=b.tsv")
    [('en', PosixPath('a.tsv')), ('de', PosixPath('b.tsv'))]
    """
    found = []
    for piece in names_in(text):
        lang, equals, path = piece.partition("=")
        if not equals or not path:
            raise UserError(f"`{option}` must look like en=FILE, got {piece!r}")
        name = parse_languages(lang, option)[0]
        found.extend((name, file) for file in files_of(path))
    if not found:
        raise UserError(f"`{option}` must name a file, as in en=FILE")
    return found


def parse_columns(text: str) -> dict[str, str]:
    """Items ``field=column`` separated by commas; a column is a number from 0, one from the
    end, from -1, or a heading.

    >>> parse_columns("text=0,label=gold")
    {'text': '0', 'label': 'gold'}
    """
    columns = {}
    for piece in names_in(text):
        field, equals, column = piece.partition("=")
        if not equals or not column:
            raise UserError(f"`--columns` must look like text=0,label=1, got {piece!r}")
        if field in columns:
            raise UserError(f"`--columns` must name {field!r} once, got it twice")
        columns[field] = column
    return columns


def is_number(column: str) -> bool:
    """Whether a column is named by its number, not by a heading.

    >>> is_number("12"), is_number("-1"), is_number("--1"), is_number("²")
    (True, True, False, False)
    """
    return re.fullmatch("-?[0-9]{1,9}", column) is not None


def column_number(
    columns: Mapping[str, str], field: str, header: Mapping[str, int] | None, default: int
) -> int:
    """The number of the column of ``field``.

    Args:
        columns: as given by the user.
        header: numbers by heading, if the file has one.
        default: if the user did not name it.
    """
    asked = columns.get(field)
    if asked is None:
        return default
    if is_number(asked):
        return int(asked)
    return heading_number(f"`--columns` {field}={asked}", asked, header or {})


def heading_number(option: str, heading: str, header: Mapping[str, int]) -> int:
    """The number of the column under ``heading``; ``option`` is quoted in the error."""
    if heading not in header:
        known = ", ".join(header) or "none"
        raise UserError(f"{option}: no such heading; the file has {known}")
    return header[heading]


logger = logging.getLogger(__name__)

SKIP_BAD_HELP = "maximum number of malformed rows of each file that are left out; 0 refuses any"


@dataclass
class BadRows:
    """How many rows may be left out, how many were, and what was wrong with the first."""

    limit: int
    count: int = 0
    first: str = ""


_current: ContextVar[BadRows | None] = ContextVar("bad_rows", default=None)


@contextlib.contextmanager
def one_row() -> Iterator[None]:
    """Code that reads one row: a UserError leaves it out where `leaving_out` allows one more."""
    bad = _current.get() or BadRows(0)
    try:
        yield
    except UserError as error:
        if bad.count >= bad.limit:
            if not bad.limit:
                raise
            raise UserError(
                f"{error}; `--skip-bad` must be more than {bad.limit} to leave out this row, too"
            ) from None
        bad.count, bad.first = bad.count + 1, bad.first or str(error)


@contextlib.contextmanager
def leaving_out(limit: int, path: str | Path) -> Iterator[BadRows]:
    """Within this block, which reads ``path``, up to ``limit`` bad rows are left out; says so."""
    token = _current.set(bad := BadRows(limit))
    try:
        yield bad
    finally:
        _current.reset(token)
    if bad.count:
        logger.warning("%s: left out %d bad row(s); the first: %s", path, bad.count, bad.first)


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
    ['B-PER', -1]

    Raises:
        UserError: for a number without a name; begins with ``where``.
    """
    if names is not None and isinstance(value, list):
        return [named(where, one, names, column) for one in value]
    if names is None or not isinstance(value, int) or str(value) in UNLABELLED:
        return value
    if not 0 <= value < len(names):
        raise UserError(f"{where}: `{column}` must lie in [-1, {len(names) - 1}], got {value}")
    return names[value]
