"""Matching rows of two folders of states: one file for each kind of pairs, found by name.

Pairs come in blocks and can be read again for each layer, so that their number is not bounded by
memory. Symbols: ``P`` pairs of a block.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from fairseq_xling.analysis.extracted import Extracted
from fairseq_xling.core.registry import Registry
from fairseq_xling.mapping.states import Selection, States


class Pairs(Protocol):
    """One file in this folder, registered in ``PAIRS``.

    Attributes:
        reads: whether it needs a file in addition to the folders.
        options: a dataclass of its own options (`fairseq_xling.core.options`).
        count: all pairs.
        facts: what was found and what was left out, for the user (JSON values).
        keys: what a map is to know its pairs by (`pair_key`): each, or that of both texts.
    """

    reads: bool
    options: type
    count: int
    facts: dict[str, Any]
    keys: Iterable[str]

    def __init__(self, moving: States, fixed: States, file: Path | None, options: Any): ...

    def __iter__(self) -> Iterator[tuple[Selection, Selection]]:
        """Blocks: P vectors of the moving folder, and the matching ones (P) of the fixed one.

        A vector is a row, or the mean of several.
        """


def pair_key(moving: str, fixed: str) -> str:
    """A short name of a pair of words, whatever their case, or of texts by their digests: with it a
    map knows the pairs that it was fitted on."""
    pair = f"{moving}\t{fixed}".casefold()
    return hashlib.blake2b(pair.encode(), digest_size=8).hexdigest()


def text_keys(moving: Extracted, fixed: Extracted) -> list[str]:
    """The one key of all rows of two folders; none where their texts are unknown."""
    if not (moving.text and fixed.text):
        return []
    return [pair_key(*(f"{side.unit} {side.text}" for side in (moving, fixed)))]


PAIRS: Registry[type[Pairs]] = Registry("kind of `--pairs`", __name__)
