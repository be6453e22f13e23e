"""Bounds on what is read from outside: far above real data, and below what exhausts a computer.

A file that exceeds one is rejected with one line that names the file, the bound, and how to raise
it: ``FAIRSEQ_XLING_BOUNDS=line=1000000000,sentence=20000`` in the environment, for every program.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name

VARIABLE = "FAIRSEQ_XLING_BOUNDS"
_ALWAYS_UNPACKED = 64 << 20  # bytes, of the smallest file, too


@dataclass(frozen=True)
class Bound:
    """The largest value by default, and what is counted."""

    default: int
    what: str


BOUNDS = {
    "line": Bound(16 << 20, "bytes in a line of text"),
    "unpacked": Bound(200, "times its size after unpacking gzip or reading a table, or 64 MiB"),
    "json": Bound(128 << 20, "bytes of JSON"),
    "values": Bound(10_000_000, "values in a JSON text"),
    "yaml": Bound(256 << 10, "bytes of YAML"),
    "list": Bound(100, "seeds or numbers in the list of an option"),
    "steps": Bound(10_000, "steps in the plan of a run"),
    "ids": Bound(4_000_000, "ids in a vocabulary"),
    "sentence": Bound(3_000, "lines in an annotated sentence"),
    "brackets": Bound(1_000, "open brackets in a tree of constituents"),
    "mentions": Bound(50_000, "pairs of mentions in a sentence, each a candidate"),
    "context": Bound(250_000, "characters in the context of a question"),
    "item": Bound(1 << 16, "tokens of an annotated item, in all windows that it is read in"),
}


def bound(name: str) -> int:
    """The largest value of that kind in this process.

    Raises:
        UserError: if the environment sets an unknown bound, or one that is not a number.
    """
    return _raised(os.environ.get(VARIABLE, "")).get(name, BOUNDS[name].default)


def check_bound(name: str, value: int, where: object) -> None:
    """Check one value; ``where`` is the file, or file and line."""
    if value > bound(name):
        raise exceeds(name, value, where)


def exceeds(name: str, value: int, where: object) -> UserError:
    """The error for a ``value`` above the bound, of which at least so much was counted."""
    return UserError(
        f"{where}: must be at most {bound(name)} {BOUNDS[name].what}, got {value} or more; "
        f"{VARIABLE}={name}=N raises the bound"
    )


def most_unpacked(path: Path) -> int:
    """The bytes that a packed file, or the columns of a table, may have in all."""
    return max(_ALWAYS_UNPACKED, bound("unpacked") * path.stat().st_size)


def _raised(text: str) -> dict[str, int]:
    found = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = piece.partition("=")
        if name not in BOUNDS:
            raise unknown_name(f"bound in {VARIABLE}", name, BOUNDS)
        if not (value.isascii() and value.isdecimal() and 0 < len(value) < 19):
            raise UserError(f"{VARIABLE}: {name} must be a whole number, got {value!r}")
        found[name] = int(value)
    return found
