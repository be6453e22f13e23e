"""N-gram language models in the ARPA format, which programs such as KenLM's `lmplz` write.

A text file: after ``\\data\\`` how many n-grams of each order there are, then a section of each
order, with a line for each n-gram: its log10 probability, its words, and its log10 back-off weight,
if longer n-grams begin with it.
"""

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import read_lines

BEGIN, END = "<s>", "</s>"
UNKNOWN = ("<unk>", "<UNK>")  # as programs write it
_LARGEST = 10  # order
_SIZE = re.compile(r"ngram +([0-9]{1,2}) *= *([0-9]{1,18})")
_NUMBER = re.compile(r"[-+]?[0-9]{0,40}\.?[0-9]{0,40}([eE][-+]?[0-9]{1,3})?")
_SPACE = re.compile(r"[ \t]+")  # not other spaces, which may be a part of a word


@dataclass(frozen=True)
class Grams:
    """All n-grams of one order, M of them.

    Attributes:
        words: (M, n) int64, numbers of words; log_probs, backoffs: (M,) float32, in nats.
        lines: (M,) int64, where in the file each stands.
    """

    words: np.ndarray
    log_probs: np.ndarray
    backoffs: np.ndarray
    lines: np.ndarray


@dataclass(frozen=True)
class Arpa:
    """A file's words, and its n-grams of orders 1, 2, ..., whose words are numbers of these."""

    words: Sequence[str]
    orders: Sequence[Grams]


def read_arpa(path: str | Path) -> Arpa:
    """Read a file, also a packed one.

    Raises:
        UserError: naming file and line, if it is no such file, ends too early, has another number
            of n-grams than it says, values that are not log-probabilities, or words in n-grams that
            are no 1-grams.
    """
    lines = enumerate(_stripped(path), start=1)
    for _, line in lines:
        if line == "\\data\\":
            break
    else:
        raise UserError(f"{path}: must be an n-gram model in the ARPA format, has no \\data\\")
    sizes: list[int] = []
    number = 0
    for number, line in lines:  # noqa: B007  both are of the line after the sizes
        found = _SIZE.fullmatch(line)
        if found and int(found[1]) == len(sizes) + 1 <= _LARGEST:
            sizes.append(int(found[2]))
        elif line:
            break
    if not sizes:
        raise UserError(f"{path}: must say how many n-grams there are, from `ngram 1=`")
    known: dict[str, int] = {}
    orders = []
    for order, size in enumerate(sizes, start=1):
        if line != f"\\{order}-grams:":
            raise UserError(f"{path}:{number}: must be \\{order}-grams:, got {shown(line)}")
        grams, number, line = _section(path, lines, order, known)
        if len(grams.words) != size:
            raise UserError(
                f"{path}: must have the {size:,} {order}-grams that it announces, got "
                f"{len(grams.words):,}"
            )
        orders.append(grams)
    if line != "\\end\\":
        raise UserError(f"{path}:{number}: must be \\end\\, got {shown(line)}")
    return Arpa(list(known), orders)


def _stripped(path: str | Path) -> Iterator[str]:
    for line in read_lines(path):
        yield line.strip(" \t\r")


def _section(
    path: str | Path, lines: Iterator[tuple[int, str]], order: int, known: dict[str, int]
) -> tuple[Grams, int, str]:
    """The n-grams of one order, and the line after them and its number; the words of order 1 are
    entered in ``known``."""
    words: list[list[int]] = []
    values: list[tuple[float, float]] = []
    where: list[int] = []
    number, line = 0, ""
    for number, line in lines:
        if not line:
            continue
        if line[0] == "\\":
            break
        parts = _SPACE.split(line)
        if not order + 1 <= len(parts) <= order + 2:
            raise UserError(
                f"{path}:{number}: must be a log-probability, {order} "
                f"word{'s' if order > 1 else ''} and perhaps a back-off weight, got "
                f"{len(parts)} parts"
            )
        names = parts[1 : order + 1]
        if order == 1:
            if names[0] in known:
                raise UserError(f"{path}:{number}: {shown(names[0])} is there twice")
            known[names[0]] = len(known)
        try:
            words.append([known[name] for name in names])
        except KeyError as error:
            raise UserError(f"{path}:{number}: {shown(error.args[0])} is no 1-gram") from None
        values.append(_values(path, number, parts[0], *parts[order + 1 :]))
        where.append(number)
    else:
        raise UserError(f"{path}: ends before \\end\\")
    table = np.array(values, dtype=np.float32).reshape(-1, 2) * math.log(10)
    grams = Grams(
        np.array(words, dtype=np.int64).reshape(-1, order),
        table[:, 0],
        table[:, 1],
        np.array(where, dtype=np.int64),
    )
    return grams, number, line


def _values(path: str | Path, number: int, probability: str, backoff: str = "0") -> tuple:
    found = math.nan, math.nan
    if _NUMBER.fullmatch(probability) and _NUMBER.fullmatch(backoff):
        with contextlib.suppress(ValueError):
            found = float(probability), float(backoff)
    if not (found[0] <= 0 and all(abs(value) < 1e4 for value in found)):
        raise UserError(
            f"{path}:{number}: a log10 probability must be at most 0 and both numbers finite, got "
            f"{shown(probability)} and {shown(backoff)}"
        )
    return found
