"""Read the text format of word2vec, GloVe and fastText (``.vec``): a word and its numbers per line.

A line is split at ASCII blanks; its last ``D`` fields are the vector and the rest is the word: it
may contain blanks (GloVe has ``. . .``) and any other space of Unicode. The file may begin with a
line ``words D``; then it must have as many rows.

In a file of subwords, those that begin a word have the mark ``▁``. Where symbols are looked up, a
file has marks unless more of them are found without; where its first words are read, if more than
`_MARKED` of its words have one.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.texts import byte_lines
from fairseq_xling.text.pieces import WORD_MARK

_MARKED = 0.05  # of the words; a plain file has the mark here and there as any other sign
_BOM = "\ufeff".encode()
_DIGITS = 15  # of a number in the first line; what has more is no size


def read_text_vectors(
    path: str | Path, symbols: Sequence[str], specials: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of ``symbols``, if the file has them.

    In a file without marks, of plain words or WordPiece, ``▁house`` is looked up as ``house`` and a
    piece inside a word, ``s``, as ``##s``.

    Args:
        path: UTF-8 text, also as .gz.
        symbols: V strings by id.
        specials: number of first symbols that are not looked up.

    Returns:
        Vectors (V, D) float32, zero where unknown, and which are known, (V,) bool.
    """
    rows = _Rows(path)
    looked_up = symbols[specials:]
    wanted = {*looked_up, *map(_unmarked, looked_up)} - {""}
    found = _Found(path)
    for number, word, fields in rows:
        if word in wanted:
            found.add(number, word, fields)
    plain = _is_plain(looked_up, found)
    vectors = np.zeros((len(symbols), rows.width), dtype=np.float32)
    known = np.zeros(len(symbols), dtype=bool)
    for row, symbol in enumerate(looked_up, start=specials):
        vector = found.vectors.get(_unmarked(symbol) if plain else symbol)
        if vector is not None:
            vectors[row], known[row] = vector, True
    if not known.any():
        raise UserError(f"{path}: has none of the {len(looked_up)} subwords")
    return vectors, known


def read_first_words(path: str | Path, most: int) -> tuple[list[str], np.ndarray]:
    """The first ``most`` words and their vectors (n, D) float32, without the mark.

    Subwords inside a word, which a file with marks has without one, are left out.
    """
    marks = [len(word) > 1 and word.startswith(WORD_MARK) for _, word, _ in _Rows(path)]
    marked, found = sum(marks) > _MARKED * len(marks), _Found(path)
    for number, word, fields in _Rows(path):
        if marked:
            if not word.startswith(WORD_MARK):
                continue
            word = word.removeprefix(WORD_MARK)
        if word:
            found.add(number, word, fields)
        if len(found.vectors) == most:
            break
    return list(found.vectors), np.array(list(found.vectors.values()), dtype=np.float32)


class _Rows:
    """The rows of a file: number of the line, word, and its D fields.

    Attributes:
        width: D, known when the first row has been read.
    """

    def __init__(self, path: str | Path):
        self.path, self.width = path, 0

    def __iter__(self) -> Iterator[tuple[int, str, list[bytes]]]:
        announced, count, longer = None, 0, 0
        decimals: set[int] = set()  # numbers of digits of last numbers
        for number, line in enumerate(byte_lines(self.path), start=1):
            if number == 1:
                line = line.removeprefix(_BOM)
                if announced := _header(line):
                    self.width = announced[1]
                    continue
            if line.isspace():
                continue
            if not self.width:  # as many as numbers follow the word
                numbers = itertools.takewhile(_is_number, reversed(line.split()[1:]))
                self.width = sum(1 for _ in numbers)
            if not self.width:
                raise self._no_vectors()
            word, *fields = self._split(line, number)
            count += 1
            own = len(fields[-1].partition(b".")[2])
            if own < min(decimals, default=0) == max(decimals) and not line.endswith(b"\n"):
                said = shown(fields[-1].decode("utf-8", "replace"))
                raise UserError(
                    f"{self.path}:{number}: ends without a newline in {said}, which has fewer "
                    "digits than the numbers of the other rows; is it cut?"
                )
            decimals.add(own)
            ends = word.rsplit(None, 1)[1:]
            longer += announced is not None and any(map(_is_number, ends))
            try:
                yield number, word.decode("utf-8"), fields
            except UnicodeDecodeError as error:
                where = f"byte {error.start}: {error.reason}"
                raise UserError(f"{self.path}:{number}: not UTF-8 ({where})") from None
        if not count:
            raise self._no_vectors()
        if announced and longer == count:
            raise UserError(
                f"{self.path}:1: says that vectors have {self.width} numbers, but every row has "
                "more"
            )
        if announced and announced[0] != count:
            raise UserError(
                f"{self.path}:1: says that there are {announced[0]} rows, but the file has {count};"
                " is it cut?"
            )

    def _split(self, line: bytes, number: int) -> list[bytes]:
        fields = line.rsplit(None, self.width)
        if len(fields) == self.width and line[:1].isspace():
            return [b"", *fields]  # a word of blanks alone
        if len(fields) <= self.width:
            raise UserError(
                f"{self.path}:{number}: must be a word and {self.width} numbers, got "
                f"{len(fields)} fields"
            )
        return fields

    def _no_vectors(self) -> UserError:
        return UserError(
            f"{self.path}: not a text file of vectors (a word and its numbers per line)"
        )


class _Found:
    """Vectors by word; each word has one."""

    def __init__(self, path: str | Path):
        self._path = path
        self._lines: dict[str, int] = {}
        self.vectors: dict[str, np.ndarray] = {}

    def add(self, number: int, word: str, fields: list[bytes]) -> None:
        """The row of ``word`` in line ``number``."""
        where = f"{self._path}:{number}"
        try:
            vector = np.array(fields, dtype=np.float32)
        except ValueError:
            raise UserError(f"{where}: not numbers after {shown(word)}") from None
        if not np.isfinite(vector).all():
            raise UserError(
                f"{where}: must have {len(fields)} finite numbers after {shown(word)}, got NaN or "
                "infinity"
            )
        if word not in self.vectors:
            self.vectors[word], self._lines[word] = vector, number
        elif not np.array_equal(self.vectors[word], vector):
            raise UserError(
                f"{where}: must have another word than line {self._lines[word]}, got "
                f"{shown(word)} with two vectors; remove one"
            )


def _header(line: bytes) -> tuple[int, int] | None:
    """The number of rows and D, if the first line says them."""
    fields = line.split()
    if len(fields) != 2 or not all(one.isdigit() and len(one) <= _DIGITS for one in fields):
        return None
    return int(fields[0]), int(fields[1])


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_plain(symbols: Sequence[str], found: _Found) -> bool:
    """Whether more of the symbols that begin a word are found without their mark."""
    begin = [one for one in symbols if one.startswith(WORD_MARK) and one != WORD_MARK]
    with_mark = sum(one in found.vectors for one in begin)
    return sum(_unmarked(one) in found.vectors for one in begin) > with_mark


def _unmarked(symbol: str) -> str:
    """How a file without marks spells ``symbol``.

    >>> _unmarked("▁house"), _unmarked("s")
    ('house', '##s')
    """
    return symbol[1:] if symbol.startswith(WORD_MARK) else f"##{symbol}"
