"""A dictionary file: one symbol and its count a line, in the order of their ids."""

import functools
import os
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines

SPECIAL_SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>")
OWN_SYMBOLS = SPECIAL_SYMBOLS[4:]  # fairseq puts the first four in front of every dictionary itself


def read_dictionary(path: str | Path) -> list[str]:
    """All symbols by id, the four that fairseq puts in front included.

    Raises:
        UserError: if the file is missing, or is not a dictionary written by `prepare` (names the
            line that has no count, or a symbol that occurs twice).
    """
    symbols = [*SPECIAL_SYMBOLS[:4]]
    for number, line in enumerate(read_lines(path), start=1):
        symbol, _, count = line.rpartition(" ")
        if not (symbol and count.isascii() and count.isdecimal() and len(count) < 20):
            raise UserError(f"{path}:{number}: must be a symbol, a space and a count, got {line!r}")
        symbols.append(symbol)
    if tuple(symbols[: len(SPECIAL_SYMBOLS)]) != SPECIAL_SYMBOLS:
        names = " and ".join(OWN_SYMBOLS)
        raise UserError(f"{path}: must begin with {names}, as `prepare` writes it")
    if len(set(symbols)) < len(symbols):
        seen: set[str] = set()
        for number, symbol in enumerate(symbols, start=-3):
            if symbol in seen:
                raise UserError(f"{path}:{number}: has {symbol!r} a second time")
            seen.add(symbol)
    return symbols


def dictionary_size(path: Path) -> int:
    """Number of symbols in a dictionary; read once per process, until the file changes.

    Errors as for `read_dictionary`.
    """
    state = os.stat(path)
    return _size(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _size(path: Path, changed: int, size: int) -> int:
    return len(read_dictionary(path))
