"""Rows of annotated files that cannot be read: refused, or, up to a number, left out.

Readers enclose what concerns one row (a sentence, a question) in `one_row`; what concerns the whole
file stays outside and always ends the reading.
"""

import argparse
import contextlib
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.ranges import NOT_NEGATIVE, Number

logger = logging.getLogger(__name__)

SKIP_BAD_HELP = "maximum number of malformed rows of each file that are left out; 0 refuses any"


def add_skip_bad(parser: argparse.ArgumentParser) -> None:
    """The option of a verb."""
    parser.add_argument(
        "--skip-bad", type=Number(int, NOT_NEGATIVE), default=0, metavar="N", help=SKIP_BAD_HELP
    )


@dataclass
class BadRows:
    """How many rows may be left out, how many were, and what was wrong with the first."""

    limit: int
    count: int = 0
    first: str = ""


_current: ContextVar[BadRows | None] = ContextVar("bad_rows", default=None)


@contextlib.contextmanager
def one_row() -> Iterator[None]:
    """Code that reads one row: a UserError leaves it out where `leaving_out` allows one more."""
    bad = _current.get() or BadRows(0)
    try:
        yield
    except UserError as error:
        if bad.count >= bad.limit:
            if not bad.limit:
                raise
            raise UserError(
                f"{error}; `--skip-bad` must be more than {bad.limit} to leave out this row, too"
            ) from None
        bad.count, bad.first = bad.count + 1, bad.first or str(error)


@contextlib.contextmanager
def leaving_out(limit: int, path: str | Path) -> Iterator[BadRows]:
    """Within this block, which reads ``path``, up to ``limit`` bad rows are left out; says so."""
    token = _current.set(bad := BadRows(limit))
    try:
        yield bad
    finally:
        _current.reset(token)
    if bad.count:
        logger.warning("%s: left out %d bad row(s); the first: %s", path, bad.count, bad.first)
