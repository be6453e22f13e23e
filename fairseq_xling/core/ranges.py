"""The numbers that an option may have, and bounds on what is read from outside.

A range is declared with the option, and checked where it is read.
Three kinds of declarations take a `Range`: an option of a verb by its type (`Number`), a field of a
configuration or of settings by its metadata (`ranged` or `numbers`, read by `check_fields`), and a
field of a run's options (`fairseq_xling.core.options.option`).

Bounds are far above real data, and below what exhausts a computer. A file that exceeds one is
rejected with one line that names the file, the bound, and how to raise it:
``FAIRSEQ_XLING_BOUNDS=line=1000000000,sentence=20000`` in the environment, for every program.
"""

import argparse
import dataclasses
import hashlib
import math
import os
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name

WORDS = {int: "a whole number", float: "a number"}
LARGEST = 2**31 - 1  # whole number, of a range without an end: what 32 bits hold


def parsed(kind: type, text: str) -> Any:
    """The number in ``text``, written with ASCII digits and nothing between them.

    Raises:
        ValueError: for anything else.
    """
    if not text.isascii() or "_" in text:  # which Python would read
        raise ValueError(text)
    return kind(text)


@dataclasses.dataclass(frozen=True)
class Range:
    """Finite numbers from ``least`` to ``most``; ``above`` and ``below`` leave the end out.

    >>> Range(0, 1, below=True).rule
    'must lie in [0, 1)'
    """

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False

    @property
    def words(self) -> str:
        """Where a number is to be: ``at least 1``, ``in [0, 1)``."""
        if self._bounded:
            ends = ("(" if self.above else "["), (")" if self.below else "]")
            return f"in {ends[0]}{_shown(self.least)}, {_shown(self.most)}{ends[1]}"
        if self.least > -math.inf:
            return f"{'above' if self.above else 'at least'} {_shown(self.least)}"
        if self.most < math.inf:
            return f"{'below' if self.below else 'at most'} {_shown(self.most)}"
        return "finite"

    @property
    def rule(self) -> str:
        """What a number must be, as messages say it."""
        return f"must {'lie' if self._bounded else 'be'} {self.words}"

    @property
    def note(self) -> str:
        """What help says of the numbers; nothing where they are plain counts or any number."""
        return self.words if self._bounded or self.above or self.below else ""

    @property
    def _bounded(self) -> bool:
        return self.least > -math.inf and self.most < math.inf

    def __contains__(self, number: float) -> bool:
        return (
            -math.inf < number < math.inf  # not math.isfinite: a whole number may be too large
            and (self.least < number if self.above else self.least <= number)
            and (number < self.most if self.below else number <= self.most)
            and not self._beyond(number)
        )

    def _beyond(self, number: float) -> bool:
        """Whether a whole number is larger than anything could use, where no end is declared."""
        return isinstance(number, int) and abs(number) > LARGEST and self.most == math.inf

    def check(self, name: str, value: Any) -> Any:
        """``value``, if it is in the range; None passes."""
        if value is not None and value not in self:
            raise UserError(f"`{name}` {self._broken(value)}, got {value}")
        return value

    def _broken(self, value: float) -> str:
        if self._beyond(value) and value > 0:
            return f"must be at most {LARGEST}"
        return self.rule if -math.inf < value < math.inf else "must be finite"


def _shown(end: float) -> str:
    return str(int(end)) if end == int(end) else f"{end:g}"


ANY = Range()
SHARE = Range(0, 1)
BELOW_ONE = Range(0, 1, below=True)
POSITIVE = Range(0, above=True)
COUNT = Range(1)
NOT_NEGATIVE = Range(0)
FIRST_WORD = Range(0, 1)  # its number in a file of word alignment links
NATS = Range(-20, 20)  # what may be added to a score for each word; its exponential is taken
# Candidates of a sentence go through a model together, and so do hypotheses.
CANDIDATES, HYPOTHESES = Range(1, 16), Range(1, 1000)
# Slots of a source token are told apart by a table of as many embeddings.
SLOTS = Range(1, 8)


@dataclasses.dataclass(frozen=True)
class Number:
    """The type of an argument that takes a number of a range.

    >>> Number(int, COUNT)("3")
    3
    """

    kind: type
    range: Range = ANY

    def __call__(self, text: str) -> Any:
        try:
            number = parsed(self.kind, text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"must be {WORDS[self.kind]}, got {text!r:.40}"
            ) from None
        try:
            return self.range.check("", number)
        except UserError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix("`` ")) from None


def ranged(help: str, range: Range, **metadata: Any) -> dict[str, Any]:
    """Metadata of a field whose numbers `check_fields` holds to ``range``."""
    text = f"{help}; {range.note}" if range.note else help
    return {"help": text, "range": range, **metadata}


def numbers(default: Any, range: Range) -> Any:
    """A field of a dataclass of settings that `check_fields` holds to ``range``."""
    return dataclasses.field(default=default, metadata={"range": range})


def option_name(field: str) -> str:
    """How a field is spelt on the command line and in files.

    >>> option_name("max_tokens")
    'max-tokens'
    """
    return field.replace("_", "-")


def check_fields(config: type, values: Any) -> None:
    """Hold what is `ranged` in the dataclass ``config`` to its range; ``values`` has attributes."""
    for field in dataclasses.fields(config):
        allowed, value = field.metadata.get("range"), getattr(values, field.name, None)
        if allowed is not None and not isinstance(value, str):
            allowed.check(f"--{option_name(field.name)}", value)


MOST = 2**32 - 1  # of numpy's older generator, which fairseq seeds, too
SEEDS = Range(0, MOST)
SEED = Number(int, SEEDS)  # the type of an argument


def drawn(text: str) -> int:
    """A number below 2**64 that depends on ``text`` alone: equal texts fall on one side of a split.

    >>> drawn("dog") == drawn("dog") != drawn("dogs")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


VARIABLE = "FAIRSEQ_XLING_BOUNDS"
_ALWAYS_UNPACKED = 64 << 20  # bytes, of the smallest file, too


@dataclasses.dataclass(frozen=True)
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
    found = {}
    for piece in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        kind, _, value = piece.partition("=")
        if kind not in BOUNDS:
            raise unknown_name(f"bound in {VARIABLE}", kind, list(BOUNDS))
        if not (value.isascii() and value.isdecimal() and 0 < len(value) < 19):
            raise UserError(f"{VARIABLE}: {kind} must be a whole number, got {value!r}")
        found[kind] = int(value)
    return found.get(name, BOUNDS[name].default)


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
