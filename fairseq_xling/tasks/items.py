"""The contents of an annotated file: one item for each sentence, pair, tree or question."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.dataset_folders import files_of
from fairseq_xling.errors import UserError
from fairseq_xling.languages import parse_languages


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

    Raises:
        UserError: for anything else, or nothing at all.
    """
    found = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
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

    Raises:
        UserError: for anything else.
    """
    columns = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
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

    Raises:
        UserError: for a heading that the file has not.
    """
    asked = columns.get(field)
    if asked is None:
        return default
    if is_number(asked):
        return int(asked)
    return heading_number(f"`--columns` {field}={asked}", asked, header or {})


def heading_number(option: str, heading: str, header: Mapping[str, int]) -> int:
    """The number of the column under ``heading``; ``option`` is quoted in the error.

    Raises:
        UserError: for a heading that the file has not.
    """
    if heading not in header:
        known = ", ".join(header) or "none"
        raise UserError(f"{option}: no such heading; the file has {known}")
    return header[heading]
