"""Read the text format of word2vec and fastText (``.vec``): a word and its numbers per line."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines

WORD_MARK = "▁"


def read_text_vectors(
    path: str | Path, symbols: Sequence[str], specials: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of ``symbols``, if the file has them.

    The file may begin with a line ``words dimension``. If none of its words has the mark ``▁``, it
    contains plain words, or WordPiece: ``▁house`` is then looked up as ``house`` and a piece inside
    a word, ``s``, as ``##s``. If a word occurs twice, the first vector is used.

    Args:
        path: UTF-8 text, also as .gz.
        symbols: V strings by id.
        specials: number of first symbols that are not looked up.

    Returns:
        Vectors (V, D) float32, zero where unknown, and which are known, (V,) bool.

    Raises:
        UserError: if a line is damaged (names file and line) or no symbol is found.
    """
    marked, width = _survey(path)
    rows: dict[str, int] = {}
    for row, symbol in enumerate(symbols):
        if row >= specials:
            rows.setdefault(symbol if marked else _unmarked(symbol), row)
    vectors = np.zeros((len(symbols), width), dtype=np.float32)
    known = np.zeros(len(symbols), dtype=bool)
    for number, line in enumerate(read_lines(path), start=1):
        word, _, rest = line.partition(" ")
        row = rows.get(word)
        if row is None or known[row] or (number == 1 and _is_header(line)):
            continue
        try:
            values = np.array(rest.split(), dtype=np.float32)
        except ValueError:
            raise UserError(f"{path}:{number}: not numbers after {word!r}") from None
        if len(values) != width or not np.isfinite(values).all():
            raise UserError(
                f"{path}:{number}: must have {width} finite numbers after {word!r}, "
                f"got {len(values)}{'' if np.isfinite(values).all() else ' with NaN or infinity'}"
            )
        vectors[row], known[row] = values, True
    if not known.any():
        raise UserError(f"{path}: has none of the {len(symbols) - specials} subwords")
    return vectors, known


def _survey(path: str | Path) -> tuple[bool, int]:
    """Whether any word has the mark, and the width of the first vector."""
    marked, width = False, 0
    for number, line in enumerate(read_lines(path), start=1):
        marked = marked or line.startswith(WORD_MARK)
        if not width and not (number == 1 and _is_header(line)):
            width = len(line.split(" ")) - 1 - line.endswith(" ")
        if marked and width:
            break
    if width < 1:
        raise UserError(f"{path}: not a text file of vectors (a word and its numbers per line)")
    return marked, width


def _is_header(line: str) -> bool:
    fields = line.split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _unmarked(symbol: str) -> str:
    """How a file without marks spells ``symbol``.

    >>> _unmarked("▁house"), _unmarked("s")
    ('house', '##s')
    """
    return symbol[1:] if symbol.startswith(WORD_MARK) else f"##{symbol}"
