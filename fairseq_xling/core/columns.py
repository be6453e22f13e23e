"""Columns of tables as lines of text: ``FILE:COLUMN`` of Parquet, Arrow, JSON lines and tabs.

A row is a line, read a few at a time. Line ends inside a text become spaces, and a missing text is
an empty line, so that rows of several columns stay parallel. A column inside another one is named
with a dot, such as ``translation.en``. Columns between tabs have a number from 1, or else a name,
and then the first row has the names; quotes have no meaning there.
"""

import codecs
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.extras import needed_by
from fairseq_xling.core.files import decode_json, on_disk
from fairseq_xling.core.ranges import bound, exceeds, most_unpacked

_PACKED = r"(?:\.gz|\.xz)?"
_TABS = re.compile(rf".+\.(?:tsv|csv|txt){_PACKED}")
TABLES = (".parquet", ".arrow")
_ROWS = 1024  # of a batch
_LINE_ENDS = re.compile(rb"\r\n|[\r\n]")
Lines = Callable[[Path], Iterator[bytes]]


def may_have_tabs(path: str | Path) -> bool:
    """Whether columns between tabs can be named in a file of this name."""
    return _TABS.fullmatch(str(path)) is not None


def open_column(path: str | Path, lines: Lines) -> io.RawIOBase | None:
    """The lines of a ``FILE:COLUMN``; None for any other path.

    Args:
        lines: reads the lines of a file of text, for JSON lines and tabs.

    Raises:
        UserError: for a table without the column, or named without one; while it is read, for a
            damaged file or a value that is no text (names the row, from 1).
    """
    file = on_disk(path)
    if file == Path(path):
        if file.suffix in TABLES:
            raise UserError(
                f"{path}: must be named with its column, as in {path}:COLUMN; it has "
                f"{', '.join(_names(schema_of(file)))}"
            )
        return None
    column = str(path)[len(str(file)) + 1 :]
    if may_have_tabs(file):
        return _Stream(lambda: _of_tabs(file, column, lines))
    if file.suffix not in TABLES:
        return _Stream(lambda: _of_objects(file, column, lines))
    check_text(file, column, schema_of(file))
    return _Stream(lambda: _of_table(file, column))


def schema_of(file: Path) -> Any:
    """The ``pyarrow.Schema`` of a Parquet or Arrow file."""
    with _opened(file) as (schema, _):
        return schema


def column_type(file: Path, column: str, schema: Any) -> Any:
    """The ``pyarrow.DataType`` of a column; that of a dictionary's values where it has one."""
    import pyarrow

    if column not in (known := _names(schema)):
        raise UserError(f"{file}: has no column `{column}`, only {', '.join(known)}")
    first, *inner = _steps(file, column, schema)
    found = schema.field(first).type
    for name in inner:
        found = found.field(name).type
    return found.value_type if pyarrow.types.is_dictionary(found) else found


def check_text(file: Path, column: str, schema: Any) -> None:
    """Refuse a column that is not of texts."""
    from pyarrow import types

    found = column_type(file, column, schema)
    if not (types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)):
        raise UserError(f"{file}: column `{column}` must be of strings, got {found}")


def class_names(schema: Any, column: str) -> list[str] | None:
    """The names of the classes whose numbers a column holds, alone or in lists, where Hugging
    Face's datasets stores them with the schema; else None."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = features[column]
        while "names" not in found and "feature" in found:  # a list
            found = found["feature"]
        names = found["names"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if fits else None


def column_batches(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    """Arrays of the same rows of each column, a few rows at a time, and the number of the first.

    Texts may be arrays of a dictionary, in which a few bytes stand for any number of equal rows.

    Raises:
        UserError: for a damaged file, or columns that exceed the bound when they are unpacked;
            names the first row that cannot be read, from 1.
    """
    import pyarrow.compute as pc

    row, read, most = 1, 0, most_unpacked(file)
    with _opened(file, columns) as (schema, batches):
        steps = [_steps(file, column, schema) for column in columns]
        found = batches([first for first, *_ in steps])
        while True:
            with _damage(file, row):
                if (batch := next(found, None)) is None:
                    return
                batch.validate(full=True)  # offsets that lead out of the file end here
                arrays = []
                for first, *inner in steps:
                    array = batch.column(first)
                    for name in inner:
                        array = pc.struct_field(array, name)
                    arrays.append(array)
                read += batch.num_rows + sum(map(_size, arrays))
            if read > most:
                raise exceeds("unpacked", bound("unpacked"), file)
            yield row, arrays
            row += batch.num_rows


def _of_table(file: Path, column: str) -> Iterator[bytes]:
    for row, (array,) in column_batches(file, [column]):
        with _damage(file, row):
            texts = values_of(array)
        yield from (_line(None if text is None else text.encode("utf-8")) for text in texts)


def values_of(array: Any) -> list[Any]:
    """The values of one of `column_batches`' arrays; equal texts of a batch are one object."""
    import pyarrow

    if not pyarrow.types.is_dictionary(array.type):
        return array.to_pylist()
    known = array.dictionary.to_pylist()
    return [None if row is None else known[row] for row in array.indices.to_pylist()]


def _of_objects(file: Path, column: str, lines: Lines) -> Iterator[bytes]:
    for row, line in enumerate(lines(file), start=1):
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UserError(f"{file}:{row}: not UTF-8 ({error.reason})") from None
        value = decode_json(file, text, row)
        for name in [column] if isinstance(value, dict) and column in value else column.split("."):
            if not isinstance(value, dict):
                raise UserError(f"{file}:{row}: must be an object, got {shown(value)}")
            if name not in value:
                known = ", ".join(value) or "none"
                raise UserError(f"{file}:{row}: has no column `{column}`, only {known}")
            value = value[name]
        if not (value is None or isinstance(value, str)):
            raise UserError(f"{file}:{row}: `{column}` must be a string, got {shown(value)}")
        yield _line(value and value.encode("utf-8", "surrogatepass"))


def _of_tabs(file: Path, column: str, lines: Lines) -> Iterator[bytes]:
    place = width = 0
    for row, line in enumerate(lines(file), start=1):
        cells = line.rstrip(b"\r\n").split(b"\t")
        if row == 1:
            cells[0] = cells[0].removeprefix(codecs.BOM_UTF8)
            place, width = _place(file, column, cells), len(cells)
            if not column.isdecimal():
                continue
        elif len(cells) != width and line.strip():
            raise UserError(
                f"{file}:{row}: has {len(cells)} columns between tabs, the first row has {width}"
            )
        yield _line(cells[place] if line.strip() else None)


def _place(file: Path, column: str, first: Sequence[bytes]) -> int:
    """The number of a column from 0, by the cells of the first row."""
    numbered, width = column.isdecimal(), len(first)
    names = list(map(str, range(1, width + 1)))
    if not numbered:
        names = [cell.decode("utf-8", "replace") for cell in first]
    if (count := names.count(column)) > 1:
        raise UserError(f"{file}: has {count} columns `{column}`")
    if not count:
        known = f"1 to {width}" if numbered else shown(", ".join(names), 200)
        hint = "; columns must be separated by tabs" if width == 1 else ""
        raise UserError(f"{file}: has no column `{column}`, only {known}{hint}")
    return names.index(column)


def _line(text: bytes | None) -> bytes:
    return _LINE_ENDS.sub(b" ", text or b"") + b"\n"


def _names(schema: Any) -> list[str]:
    """The columns, with those inside of others."""
    import pyarrow

    names, waiting = [], [(field.name, field.type) for field in schema]
    while waiting:
        name, kind = waiting.pop(0)
        if pyarrow.types.is_struct(kind):
            waiting[:0] = [(f"{name}.{inner.name}", inner.type) for inner in kind]
        else:
            names.append(name)
    return names


def _steps(file: Path, column: str, schema: Any) -> list[str]:
    """The names that lead to a column, from the outside."""
    steps = [column] if column in schema.names else column.split(".")
    if (count := schema.names.count(steps[0])) > 1:
        raise UserError(f"{file}: has {count} columns `{steps[0]}`")
    return steps


@contextmanager
def _opened(
    file: Path, columns: Sequence[str] = ()
) -> Iterator[tuple[Any, Callable[[list[str]], Iterator[Any]]]]:
    """The schema of a table, and what reads the batches of some of its columns."""
    with needed_by(f"{file}:"):
        import pyarrow
        from pyarrow import ipc, parquet
    # Not Python's own file: what Arrow's threads still hold of it when the program ends aborts it.
    with pyarrow.OSFile(str(file)) as source:
        if file.suffix == ".parquet":
            with _damage(file):
                about = parquet.read_metadata(source)
                _check_size(file, about)
                table = parquet.ParquetFile(
                    source,
                    metadata=about,
                    page_checksum_verification=True,
                    read_dictionary=_texts(about.schema.to_arrow_schema(), columns),
                )
                _names(table.schema_arrow)  # which need not be text
            yield (
                table.schema_arrow,
                lambda names: table.iter_batches(_ROWS, columns=list(dict.fromkeys(names))),
            )
            return
        with _damage(file):
            try:
                table = ipc.open_file(source)
                batches = map(table.get_batch, range(table.num_record_batches))
            except pyarrow.ArrowInvalid:  # the form that is written as a stream
                source.seek(0)
                batches = table = ipc.open_stream(source)
            _names(table.schema)
        yield table.schema, lambda names: iter(batches)


def _texts(schema: Any, columns: Sequence[str]) -> list[str]:
    """Those of ``columns`` that hold texts and are not inside of others."""
    from pyarrow import types

    return [
        name
        for name in columns
        if schema.names.count(name) == 1 and types.is_string(schema.field(name).type)
    ]


def _size(array: Any) -> int:
    """The bytes of the values of an array, each counted as often as it occurs."""
    import pyarrow
    import pyarrow.compute as pc

    if not pyarrow.types.is_dictionary(array.type):
        return array.nbytes
    lengths = pc.binary_length(array.dictionary)
    return pc.sum(lengths.take(array.indices), min_count=0).as_py()


def _check_size(file: Path, about: Any) -> None:
    """Refuse a Parquet file whose columns are far larger than the file."""
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    size = sum(
        group.column(number).total_uncompressed_size
        for group in groups
        for number in range(about.num_columns)
    )
    if size > most_unpacked(file):
        raise exceeds("unpacked", size // max(file.stat().st_size, 1), file)


@contextmanager
def _damage(file: Path, row: int = 0) -> Iterator[None]:
    """What pyarrow raises inside becomes one line."""
    import pyarrow

    try:
        yield
    except UserError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        kind = "Parquet" if file.suffix == ".parquet" else "Arrow"
        where = f"{file}:{row}" if row else str(file)
        raise UserError(f"{where}: damaged or not {kind} ({reason})") from None


class _Stream(io.RawIOBase):
    """Lines as a file: going back means to read again from the beginning."""

    def __init__(self, make: Callable[[], Iterator[bytes]]):
        self._make = make
        self._restart()

    def _restart(self) -> None:
        self._lines, self._rest, self._place = self._make(), b"", 0

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            if (line := next(self._lines, None)) is None:
                return 0
            self._rest = line
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        self._place += count
        return count

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        offset += self._place if whence == os.SEEK_CUR else 0
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the end of a column is not known")
        if offset < self._place:
            self._restart()
        while self._place < offset and self.readinto(bytearray(min(offset - self._place, 1 << 16))):
            pass
        return self._place
