"""Files of structures: how they are read, and how predictions are written in the same form.

Reading is strict: the first bad sentence ends the command with its file and line, unless
`--skip-bad` leaves it out (`one_row`). To add a format, add a file here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from fairseq_xling.registry import Registry
from fairseq_xling.structures.sentence import Sentence


class Format(Protocol):
    """One kind of file."""

    tasks: ClassVar[tuple[str, ...]]  # that it can annotate

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        """The sentences of a file, gzip if its name ends in ``.gz``.

        Args:
            segment: name of the segmentation of running text; empty where words are given.

        Raises:
            UserError: for the first bad sentence that is not left out; names file and line.
        """

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """Sentences with predictions, in the form of the file ``source`` they were read from,
        which may have more."""


formats: Registry[type[Format]] = Registry("format", __name__)
