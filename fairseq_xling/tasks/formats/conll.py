"""One token per line, its tag in another column, a blank line after each sentence.

Columns are separated by tabs, or by spaces in a file without tabs; all rows have equally many.
Without `--columns` the token is in the first column and the tag in the last; if there is only one,
the text has no tags. WikiAnn is ``token=1,tag=2``, xSID ``token=1,tag=3``. Before the first token
of a sentence, ``# name = value`` is a comment; in a file with tabs, so is every line that begins
with ``#`` and has none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.tasks.formats import Format, formats
from fairseq_xling.tasks.items import Item, column_number

FIELDS = ("token", "tag")


@dataclass(frozen=True)
class TaggedItem(Item):
    """A sentence.

    Attributes:
        words: its tokens.
        tags: one for each, or None if the file has none.
        rows: the raw lines of its tokens.
        before, after: the lines between the last sentence and this one, and, in the last one, the
            lines at the end of the file.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    rows: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def place_of(self, number: int) -> str:
        """``file:line`` of a word, from 0."""
        return f"{self.path}:{self.line + number}"


@formats.register("conll")
class Conll(Format):
    """See the module's docstring."""

    suffix = ".conll"
    holds = TaggedItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[TaggedItem]:
        """See `Format`. Consecutive blank lines count as one."""
        for field in columns:
            if field not in FIELDS:
                raise UserError(f"`--columns` must name {', '.join(FIELDS)}, got {field!r}")
        tabs, width = any("\t" in line for line in read_lines(path) if line.strip()), 0
        last: TaggedItem | None = None
        before: list[str] = []
        rows: list[str] = []
        number = 0
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip() and not (not rows and _is_comment(line, tabs)):
                cells = len(_cells(line, tabs))
                width = width or cells
                if cells != width:
                    raise UserError(
                        f"{path}:{number}: must have {width} columns like the rows before, got "
                        f"{cells}"
                    )
                rows.append(line)
                continue
            if rows:
                if last is not None:
                    yield last
                last = _item(path, number - len(rows), before, rows, columns)
                before, rows = [], []
            before.append(line)
        if rows:
            if last is not None:
                yield last
            last, before = _item(path, number + 1 - len(rows), before, rows, columns), []
        if last is None:
            raise UserError(f"{path}: contains no sentences")
        given = {name: getattr(last, name) for name in last.__dataclass_fields__}
        yield TaggedItem(**{**given, "after": tuple(before)})

    @staticmethod
    def write(
        path: Path,
        items: Sequence[TaggedItem],
        predictions: Sequence[Sequence[str]],
        columns: Mapping[str, str],
    ) -> None:
        """See `Format`: line for line as in the input; tags get a column if there was none."""
        with atomic_write(path, "w") as file:
            for item, tags in zip(items, predictions, strict=True):
                file.writelines(f"{line}\n" for line in item.before)
                for row, tag in zip(item.rows, tags, strict=True):
                    cells = _cells(row, "\t" in row)
                    if item.tags is None:
                        cells.append(tag)
                    else:
                        cells[column_number(columns, "tag", None, -1)] = tag
                    file.write(("\t" if "\t" in row or item.tags is None else " ").join(cells))
                    file.write("\n")
                file.writelines(f"{line}\n" for line in item.after)


def _is_comment(line: str, tabs: bool) -> bool:
    if not line.startswith("#") or "\t" in line:
        return False
    return tabs or line.split()[2:3] == ["="]


def _cells(row: str, tabs: bool) -> list[str]:
    return row.split("\t") if tabs else row.split()


def _item(
    path: Path,
    line: int,
    before: Sequence[str],
    rows: Sequence[str],
    columns: Mapping[str, str],
) -> TaggedItem:
    cells = [_cells(row, "\t" in row) for row in rows]
    token = _place(path, line, len(cells[0]), columns, "token", 0)
    tag = _place(path, line, len(cells[0]), columns, "tag", -1)
    if token == tag and "tag" in columns:
        raise UserError(f"`--columns` must give token and tag a column each, got {tag} for both")
    words, tags = [], []
    for number, row in enumerate(cells, start=line):
        words.append(_cell(path, number, row[token], "token"))
        if token != tag:
            tags.append(_cell(path, number, row[tag], "tag"))
    return TaggedItem(
        str(path), line, tuple(words), tuple(tags) or None, tuple(rows), tuple(before)
    )


def _place(
    path: Path, line: int, width: int, columns: Mapping[str, str], field: str, default: int
) -> int:
    """The column of a field, not negative."""
    place = column_number(columns, field, None, default)
    if not -width <= place < width:
        raise UserError(f"{path}:{line}: has no column {place} (`{field}`), only {width} columns")
    return place % width


def _cell(path: Path, line: int, cell: str, field: str) -> str:
    if not cell.strip():
        raise UserError(f"{path}:{line}: the {field} is empty")
    return cell.strip()
