"""Annotated files: how they are read, and how predictions are written in the same form.

Reading is strict: a row that breaks the format ends the command with its file and line, so that
none after it can shift. A new format is a new file here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fairseq_xling.registry import Registry
from fairseq_xling.transfer.items import Item


class Format(Protocol):
    """One kind of file."""

    suffix: str  # of files of predictions

    def read(self, path: Path, columns: Mapping[str, str]) -> Iterator[Item]:
        """The items of a file, gzip where its name ends in ``.gz``.

        Raises:
            UserError: for the first row that breaks the format; names file and line.
        """

    def write(
        self, path: Path, items: Sequence[Item], predictions: Sequence[Any], columns: Mapping
    ) -> None:
        """What was read, with predictions in the place of the annotation; whole or not at all."""


formats: Registry[Format] = Registry("format", __name__)
