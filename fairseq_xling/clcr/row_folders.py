"""Rows of a table, each with folders of sequences of a task: ``T+E=seq/TE/{file}``."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name


@dataclass(frozen=True)
class RowFolders:
    """A row of the table.

    Attributes:
        name: given by the user; code: for file names.
        pattern: of the paths of its folders.
    """

    name: str
    code: str
    pattern: str

    def folder(self, **places: object) -> Path:
        """The folder for the given ``places``.

        >>> str(RowFolders("T", "T", "seq/{file}.{side}").folder(file="test.en", side="premise"))
        'seq/test.en.premise'
        """
        return Path(self.pattern.format(**places))

    def differing(self, seeds: Sequence[int]) -> Sequence[int]:
        """The ``seeds`` with their own folders; only the first if none has.

        >>> patterns = "{seed}/{file}", "{file}"
        >>> [RowFolders("T", "T", pattern).differing([1, 2]) for pattern in patterns]
        [[1, 2], [1]]
        """
        return seeds if self.folder_names_seed else seeds[:1]

    @property
    def folder_names_seed(self) -> bool:
        """Whether each seed has its own folders, from a different model."""
        return any(place == "seed" for _, place, *_ in string.Formatter().parse(self.pattern))


PLACES = ("file", "name", "lang", "seed")


def places_of(path: Path, lang: str, seed: int) -> dict[str, object]:
    """The values of `PLACES` for a file in ``lang``: its name without its ending, the same without
    its language, the language, and the seed.

    >>> places_of(Path("nli/dev.en.tsv.gz"), "en", 1)
    {'file': 'dev.en', 'name': 'dev', 'lang': 'en', 'seed': 1}
    """
    stem = Path(path.name.removesuffix(".gz")).stem
    values = (stem, stem.removesuffix(f".{lang}"), lang, seed)
    return dict(zip(PLACES, values, strict=True))


def parse_rows(option: str, texts: Sequence[str], more: Sequence[str] = ()) -> list[RowFolders]:
    """Rows ``NAME=PATTERN`` whose pattern contains some of `PLACES` in braces, and all of ``more``.

    >>> [row] = parse_rows("--vectors", ["T+E(.2)=seq/{file}"])
    >>> row.name, row.code
    ('T+E(.2)', 'T+E(.2)')

    Raises:
        UserError: for none, a malformed one, or two with the same name.
    """
    if not texts:
        raise UserError(f"`{option}` must be given")
    found = []
    for text in texts:
        name, equals, pattern = (piece.strip() for piece in text.partition("="))
        if not (equals and name and pattern):
            example = ".".join(f"{{{place}}}" for place in ("file", *more))
            raise UserError(f"`{option}` must look like T+E=FOLDER/{example}, got {text!r}")
        try:
            parts = list(string.Formatter().parse(pattern))
        except ValueError as error:
            raise UserError(f"`{option}` {text}: {error}") from None
        for _, place, form, conversion in parts:
            if form or conversion:
                raise UserError(
                    f"`{option}` {text}: {{{place}}} must stand alone in its braces, got "
                    + f"{{{place}{'!' + conversion if conversion else ''}"
                    + f"{':' + form if form else ''}}}"
                )
        named = [place for _, place, *_ in parts if place is not None]
        for place in named:
            if place not in (*PLACES, *more):
                raise unknown_name(f"place in `{option}`", place, [*PLACES, *more])
        for places in (("file", "name"), *((place,) for place in more)):
            if not {*places} & {*named}:
                raise UserError(f"`{option}` {text}: must have {{{places[0]}}}, each has a folder")
        found.append(RowFolders(name, re.sub(r"[^\w.+()-]", "_", name), pattern))
    codes = [row.code for row in found]
    for row in found:
        if codes.count(row.code) > 1:
            raise UserError(f"`{option}`: there are two rows {row.name!r}")
    return found
