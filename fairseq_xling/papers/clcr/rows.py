"""Rows of sequences: the options by which `clcr encode` writes them, and the patterns that `clcr
classify` and `clcr probe` find them by."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import POSITIVE, SHARE, Range
from fairseq_xling.core.registry import unknown_name


@dataclasses.dataclass(frozen=True)
class RowOptions:
    """Options of rows of sequences; None and '' are the model's own settings."""

    delta: float | None = option(
        None,
        "words with p(key-point) above P are kept (default: as in training)",
        range=SHARE,
        metavar="P",
    )
    order: str = option("rel", "order head of row T+E+R: rel or abs", metavar=())
    reorder: str = option(
        "first",
        "language that rows T+E+R and T+pGA put into the other's order: first or second of the "
        "model's two",
        metavar="SIDE",
    )
    search: str = option(
        "beam",
        "search for its order: beam; local or exact for rel, hungarian for abs",
        metavar="NAME",
    )
    beam: int = option(10, "beam width", range=Range(1, 10_000))
    weigh: str = option(
        "",
        "cost of a pair in the wrong order or, for abs, of a position: probability or "
        "likelihood; for rel also sign, the paper's (default: likelihood)",
        metavar="NAME",
    )
    translation: str | None = option(
        None, "the text in the other language, for rows T+pGA and T+pGA-target", metavar=FILE
    )
    threshold: float | None = option(
        None,
        "pivots are closer than D, for rows T+pGA and T+pGA-target",
        range=POSITIVE,
        metavar="D",
    )


PLACES = ("file", "name", "lang", "seed")


@dataclasses.dataclass(frozen=True)
class RowFolders:
    """A row of the table: its name, as given and for files, and the pattern of its folders."""

    name: str
    code: str
    pattern: str

    def folder(self, path: Path, lang: str, seed: int, **more: str) -> Path:
        """The folder of a file's sequences.

        >>> row = RowFolders("T", "T", "seq/{seed}/{name}.{side}")
        >>> str(row.folder(Path("nli/dev.en.tsv.gz"), "en", 1, side="premise"))
        'seq/1/dev.premise'
        """
        places = {**places_of(path, lang), "seed": str(seed), **more}
        return Path(re.sub(r"\{(\w+)\}", lambda match: places[match[1]], self.pattern))

    def differing(self, seeds: Sequence[int]) -> Sequence[int]:
        """The ``seeds`` with their own folders; only the first if none has."""
        return seeds if "{seed}" in self.pattern else seeds[:1]


def places_of(path: Path, lang: str) -> dict[str, str]:
    """What patterns say of a file in ``lang``: its name without its ending, and without its
    language either.

    >>> places_of(Path("nli/dev.en.tsv.gz"), "en")
    {'file': 'dev.en', 'name': 'dev', 'lang': 'en'}
    """
    stem = Path(path.name.removesuffix(".gz")).stem
    return {"file": stem, "name": stem.removesuffix(f".{lang}"), "lang": lang}


def parse_rows(option: str, texts: Sequence[str], more: Sequence[str] = ()) -> list[RowFolders]:
    """Rows ``NAME=PATTERN`` whose pattern contains some of `PLACES` in braces, and all of ``more``.

    >>> parse_rows("--vectors", ["T+E(.2)=seq/{file}"])
    [RowFolders(name='T+E(.2)', code='T+E(.2)', pattern='seq/{file}')]
    """
    if not texts:
        raise UserError(f"`{option}` must be given")
    found: list[RowFolders] = []
    for text in texts:
        name, _, pattern = (piece.strip() for piece in text.partition("="))
        if not (name and pattern):
            example = ".".join(f"{{{place}}}" for place in ("file", *more))
            raise UserError(f"`{option}` must look like T+E=FOLDER/{example}, got {text!r}")
        named = re.findall(r"\{(.*?)\}", pattern)
        for place in named:
            if place not in (*PLACES, *more):
                raise unknown_name(f"place in `{option}`", place, [*PLACES, *more])
        for places in (("file", "name"), *((place,) for place in more)):
            if not {*places} & {*named}:
                raise UserError(f"`{option}` {text}: must have {{{places[0]}}}, each has a folder")
        code = re.sub(r"[^\w.+()-]", "_", name)
        if code in [row.code for row in found]:
            raise UserError(f"`{option}`: there are two rows {name!r}")
        found.append(RowFolders(name, code, pattern))
    return found
