"""Rows of a table, each with folders of sequences of a task: ``T+E=seq/TE/{file}``."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: as the user calls it; code: in names of files.
        pattern: of the paths of its folders.
    """

    name: str
    code: str
    pattern: str

    def folder(self, **places: object) -> Path:
        """The folder of what ``places`` say.

        >>> str(Row("T", "T", "seq/{file}.{side}").folder(file="test.en", side="premise"))
        'seq/test.en.premise'
        """
        return Path(self.pattern.format(**places))

    def differing(self, seeds: Sequence[int]) -> Sequence[int]:
        """Of ``seeds`` those that have folders of their own; only the first if none has.

        >>> [Row("T", "T", pattern).differing([1, 2]) for pattern in ("{seed}/{file}", "{file}")]
        [[1, 2], [1]]
        """
        return seeds if self.folder_names_seed else seeds[:1]

    @property
    def folder_names_seed(self) -> bool:
        """Whether each seed has folders of its own, those of another model."""
        return any(place == "seed" for _, place, *_ in string.Formatter().parse(self.pattern))


def stem(path: Path) -> str:
    """What ``{file}`` stands for.

    >>> stem(Path("nli/dev.en.tsv.gz"))
    'dev.en'
    """
    return Path(path.name.removesuffix(".gz")).stem


def parse_rows(option: str, texts: Sequence[str], places: Sequence[str], needed: str) -> list[Row]:
    """Rows ``NAME=PATTERN`` whose pattern holds some of ``places`` in braces, ``needed`` for one.

    >>> [row] = parse_rows("--vectors", ["T+E(.2)=seq/{file}"], ["file", "lang"], "file")
    >>> row.name, row.code
    ('T+E(.2)', 'T+E(.2)')

    Raises:
        UserError: for none, one that cannot be read, or two of one name.
    """
    if not texts:
        raise UserError(f"`{option}` must be given")
    found = []
    for text in texts:
        name, equals, pattern = (piece.strip() for piece in text.partition("="))
        if not (equals and name and pattern):
            raise UserError(f"`{option}` must look like T+E=FOLDER/{{{needed}}}, got {text!r}")
        try:
            parts = list(string.Formatter().parse(pattern))
        except ValueError as error:
            raise UserError(f"`{option}` {text}: {error}") from None
        named = [place for _, place, *_ in parts if place is not None]
        for place in named:
            if place not in places:
                raise unknown_name(f"place in `{option}`", place, list(places))
        if needed not in named:
            raise UserError(f"`{option}` {text}: must have {{{needed}}}, each has a folder")
        found.append(Row(name, re.sub(r"[^\w.+()-]", "_", name), pattern))
    codes = [row.code for row in found]
    for row in found:
        if codes.count(row.code) > 1:
            raise UserError(f"`{option}`: there are two rows {row.name!r}")
    return found
