"""What a head reads: states, perhaps with vectors of words, perhaps in another language's space.

RositaWORD and MIM as TreLM compares them (Li et al., 2021, Table 9). RositaWORD: for token i of
word w

    z_i = [h_i; u(w)]

with the state h_i of the encoder and the static vector u(w), of one space for all languages. A
linear map, fitted on aligned tokens (`fairseq-xling map`), then brings the z of a language to those
of another.

n tokens of a row, V words, E width of the vectors, D width of the states.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, sha256
from fairseq_xling.data.folder import SPECIALS, UNK
from fairseq_xling.mapping.fitted import FittedMap, Side, read_map
from fairseq_xling.tasks.items import parse_files
from fairseq_xling.tasks.word_vectors import (
    Lexicon,
    WordVectors,
    check_widths,
    make_table,
    read_word_vectors,
)
from fairseq_xling.text.encoder import TextEncoder

MOST = 200_000  # the most frequent words of a file, as many as MUSE reads


class TokenVectors:
    """For each token the static vector of the word that it is part of.

    A word is what the data folder's segmentation separates. Special symbols, and words without a
    vector, have the zero vector.

    Attributes:
        table: (V + 1, E) float32; row 0 is zero.
    """

    def __init__(self, encode: TextEncoder, vectors: WordVectors):
        self.table = make_table(vectors)
        self._encode, self._lexicon = encode, Lexicon(vectors.words)
        self._known: dict[bytes, int] = {}  # by the ids of a word

    @classmethod
    def read(cls, encode: TextEncoder, path: str | Path) -> "TokenVectors":
        """Those of a file of `fairseq-xling embed` or `map`, or ``.vec``."""
        return cls(encode, read_word_vectors(path, MOST))

    @property
    def width(self) -> int:
        """E."""
        return self.table.shape[1]

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The row of each token's word in the table (n,) int64."""
        inside = (ids >= SPECIALS) | (ids == UNK)
        after = np.concatenate(([False], inside[:-1]))
        begins = np.flatnonzero(inside & (self._encode.starts_word(ids) | ~after))
        ends = np.append(begins, len(ids))[1:]
        rows = np.zeros(len(ids), dtype=np.int64)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            rows[begin:end] = self._row(ids[begin:end][inside[begin:end]])
        rows[~inside] = 0
        return rows

    def _row(self, word: np.ndarray) -> int:
        key = word.tobytes()
        if key not in self._known:
            (self._known[key],) = self._lexicon.rows([self._encode.decode(word)])
        return self._known[key]


@dataclass(frozen=True)
class HeadInput:
    """What is added to the states, and the map of both; nothing by default.

    Attributes:
        vectors: of the languages that have some.
        fitted: the map, if there is one.
        digests: of the files, by option and language.
    """

    vectors: dict[str, WordVectors] = field(default_factory=dict)
    fitted: FittedMap | None = None
    digests: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, vectors: str, map_file: str) -> "HeadInput":
        """The values of `--concat-vectors` and `--map`."""
        files = dict(parse_files("--concat-vectors", vectors)) if vectors else {}
        check_files(*files.values(), of="`--concat-vectors`")
        check_files(*([map_file] if map_file else []), of="`--map`")
        read = {lang: read_word_vectors(path, MOST) for lang, path in files.items()}
        if read:
            check_widths(read, files)
        digests = {"vectors": {lang: sha256(path) for lang, path in files.items()}}
        digests["map"] = {"map": sha256(map_file)} if map_file else {}
        return cls(
            read,
            read_map(map_file) if map_file else None,
            {name: found for name, found in digests.items() if found},
        )

    @property
    def width(self) -> int:
        """E, 0 without vectors."""
        return next((one.width for one in self.vectors.values()), 0)

    def of(self, encode: TextEncoder) -> TokenVectors | None:
        """The vectors of a language's tokens, if languages have some."""
        if self.vectors and encode.lang not in self.vectors:
            raise UserError(f"`--concat-vectors` must have a file of {encode.lang!r}")
        return TokenVectors(encode, self.vectors[encode.lang]) if self.vectors else None

    def sides(self, layer: int, dim: int) -> dict[str, Side]:
        """The map of each language that it is fitted on, for states (D) of ``layer`` with their
        vectors; none without a map.
        """
        if self.fitted is None:
            return {}
        found, width = self.fitted[layer], dim + self.width
        sides = {"moving": found.moving, "fixed": found.fixed}
        langs = [self.fitted.settings.get(name, {}).get("lang") for name in sides]
        if None in langs or langs[0] == langs[1]:
            raise UserError(f"`--map` must be of two languages, got {langs[0]} and {langs[1]}")
        for lang, side in zip(langs, sides.values(), strict=True):
            if side.width != width:
                raise UserError(
                    f"`--map` must be of vectors {width} wide, {dim} of a state and {self.width} "
                    f"of a word, got {side.width} for {lang}"
                )
        return dict(zip(langs, sides.values(), strict=True))


def check_mapped(sides: Iterable[str], lang: str) -> None:
    """Refuse a language that a map does not cover; no ``sides`` is no map."""
    if sides and lang not in sides:
        raise UserError(f"`--map` is of {' and '.join(sides)}, got a file of {lang!r}")
