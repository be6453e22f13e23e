"""Annotated files: how they are read, and how predictions are written in the same format.

Reading is strict: a malformed row ends the command with its file and line, so that none after it
can shift. To add a format, add a file here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fairseq_xling.errors import UserError
from fairseq_xling.registry import Registry
from fairseq_xling.tasks.items import Item


class Format(Protocol):
    """One kind of file; the base class of registered formats."""

    suffix: ClassVar[str]  # of files of predictions
    holds: ClassVar[type[Item]]  # heads that read such items can read the format

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[Item]:
        """The items of a file, gzip if its name ends in ``.gz``.

        Raises:
            UserError: for the first malformed row; names file and line.
        """

    @classmethod
    def read_language(cls, path: Path, columns: Mapping[str, str], lang: str) -> Iterator[Item]:
        """The items of language ``lang`` where a file has several, and all otherwise.

        Raises:
            UserError: as `read`; also if there are none.
        """
        return cls.read(path, columns)

    @staticmethod
    def write(
        path: Path, items: Sequence[Item], predictions: Sequence[Any], columns: Mapping[str, str]
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


def check_fixed_columns(form: str, columns: Mapping[str, str]) -> None:
    """Refuse `--columns` for a format that has fixed ones.

    Raises:
        UserError: if there are any.
    """
    if columns:
        raise UserError(
            f"`--columns` must be empty, since {form} has fixed columns, got {next(iter(columns))}"
        )
