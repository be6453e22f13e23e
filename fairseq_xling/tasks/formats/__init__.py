"""Annotated files: how they are read, and how predictions are written in the same format.

Reading is strict: a malformed row ends the command with its file and line, so that none after it
can shift, unless `--skip-bad` leaves it out (`one_row`). To add a format, add a file here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.registry import Registry
from fairseq_xling.core.texts import read_lines
from fairseq_xling.tasks.items import Item, leaving_out, one_row

# The names of columns in the headings of the field's files.
_HEADINGS = frozenset(
    "text texts sentence sentences sentence1 sentence2 premise hypothesis hypo pair question "
    "question1 question2 query utterance content review label labels gold_label gold class "
    "category intent sentiment token tokens word words form tag tags ner ner_tag ner_tags pos "
    "pos_tag pos_tags upos xpos".split()
)
Columns = Mapping[str, str]  # which column, by name or number, has which field
_WITHHELD = ({"_"}, {"[WORD]"})  # in place of each word of a text that may not be passed on


class Format(Protocol):
    """One kind of file; the base class of registered formats."""

    suffix: ClassVar[str]  # of files of predictions
    holds: ClassVar[type[Item]]  # heads that read such items can read the format

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[Item]:
        """The items of a file, gzip if its name ends in ``.gz``."""

    @classmethod
    def read_language(cls, path: Path, columns: Columns, lang: str) -> Iterator[Item]:
        """The items of language ``lang`` where a file has several, and all otherwise."""
        return cls.read(path, columns)

    @staticmethod
    def write(
        path: Path, items: Sequence[Item], predictions: Sequence[Any], columns: Columns
    ) -> None:
        """The input file with predictions instead of the annotation, written atomically."""

    @staticmethod
    def beside(path: Path) -> tuple[Path, ...]:
        """Other files that are read with ``path``, such as separate annotation."""
        return ()


formats: Registry[type[Format]] = Registry("format", __name__)


def find_format(head: str, chosen: str = "") -> type[Format]:
    """The format ``chosen`` by a user, or else ``head``, that of the head's own files.

    >>> find_format("tsv").suffix, find_format("tsv", "json_lines").suffix
    ('.tsv', '.jsonl')

    Raises:
        UserError: for an unknown one, or one whose items the head cannot read.
    """
    own = formats[head]
    fitting = [name for name in formats if issubclass(formats[name].holds, own.holds)]
    if chosen and chosen not in fitting:
        raise UserError(f"`--format` must be {' or '.join(fitting)} with this head, got {chosen!r}")
    return formats[chosen or head]


def read_items(
    form: type[Format],
    path: Path,
    columns: Columns,
    lang: str,
    check: Callable[[Any], object],
    skip_bad: int = 0,
) -> list[Item]:
    """The items of language ``lang`` in a file.

    Args:
        check: a head's; what it rejects is a bad row, too.
        skip_bad: maximum number of bad rows that are left out.

    Raises:
        UserError: for a file, or one row more, that cannot be read; also if no row is left.
    """
    found = []
    with leaving_out(skip_bad, path) as bad:
        for item in form.read_language(path, columns, lang):
            with one_row():
                check(item)
                found.append(item)
    if bad.count and not found:
        raise UserError(f"{path}: every row is malformed; the first: {bad.first}")
    return found


def refuse_headings(place: str, names: Mapping[str, str], remedy: str) -> None:
    """Refuse a first row that has the names of columns.

    Args:
        names: its cells by field; two or more.

    Raises:
        UserError: begins with ``place``, ends with ``remedy``.
    """
    cells = [cell.strip() for cell in names.values()]
    if len(cells) > 1 and all(cell.lower() in _HEADINGS for cell in cells):
        raise UserError(
            f"{place}: the first row must not be headings, got {shown(cells)}; {remedy}"
        )


def refuse_withheld(place: str, words: Sequence[str]) -> None:
    """Refuse a sentence without its text, as treebanks are published whose text is not free.

    Raises:
        UserError: begins with ``place``.
    """
    if len(words) > 1 and {*words} in _WITHHELD:
        raise UserError(
            f"{place}: must have its words, got {words[0]} for each of {len(words)}; merge the "
            "text, which this file leaves out, into it"
        )


def check_fixed_columns(form: str, columns: Columns) -> None:
    """Refuse `--columns` for a format that has fixed ones."""
    if columns:
        raise UserError(
            f"`--columns` must be empty, since {form} has fixed columns, got {next(iter(columns))}"
        )


def check_fields(columns: Columns, fields: Sequence[str]) -> None:
    """Refuse `--columns` of anything but these fields."""
    for field in columns:
        if field not in fields:
            raise UserError(f"`--columns` must name {', '.join(fields)}, got {field!r}")


def numbered_lines(path: Path, what: str) -> Iterator[tuple[int, str]]:
    """The lines of a file and their numbers, from 1; a file without lines contains no ``what``."""
    line = 0
    for line, text in enumerate(read_lines(path), start=1):
        yield line, text
    if not line:
        raise UserError(f"{path}: contains no {what}")


def write_objects(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines, atomically."""
    with atomic_write(path, "w") as file:
        for row in rows:
            # (Not json.dump, which does not write all that is as deep as json.loads reads.)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
