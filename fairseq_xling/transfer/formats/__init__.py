"""Annotated files: how they are read, and how predictions are written in the same form.

Reading is strict: a row that breaks the format ends the command with its file and line, so that
none after it can shift. A new format is a new file here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fairseq_xling.errors import UserError
from fairseq_xling.registry import Registry
from fairseq_xling.transfer.items import Item


class Format(Protocol):
    """One kind of file; those that are registered derive from it."""

    suffix: ClassVar[str]  # of files of predictions
    holds: ClassVar[type[Item]]  # heads that read such items can read the format

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[Item]:
        """The items of a file, gzip where its name ends in ``.gz``.

        Raises:
            UserError: for the first row that breaks the format; names file and line.
        """

    @staticmethod
    def write(
        path: Path, items: Sequence[Item], predictions: Sequence[Any], columns: Mapping[str, str]
    ) -> None:
        """What was read, with predictions in the place of the annotation; whole or not at all."""

    @staticmethod
    def beside(path: Path) -> tuple[Path, ...]:
        """Other files that are read with ``path``: annotation that stands apart."""
        return ()


formats: Registry[type[Format]] = Registry("format", __name__)


def find_format(head: str, chosen: str = "") -> type[Format]:
    """The format ``chosen`` by a user, or else the one that a head's files have, named ``head``.

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
