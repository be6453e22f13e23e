"""Checks that word alignments belong to the text that they are read with."""

import functools

import numpy as np

from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.errors import UserError

_PIECE = 1 << 14  # sentences looked at together: checks need the same memory for any corpus


def same_sizes(one: TokenFile, other: TokenFile) -> bool:
    """Whether both have items of the same lengths."""
    return len(one) == len(other) and all(
        np.array_equal(one.sizes[k : k + _PIECE], other.sizes[k : k + _PIECE])
        for k in range(0, len(one), _PIECE)
    )


def check_links(order: TokenFile, source: TokenFile, target: TokenFile) -> None:
    """Check that ``order`` has for each token of ``target`` the index + 1 of a token of the same
    sentence of ``source``, or 0.

    Raises:
        UserError: if its sizes differ, or for the first link that lies outside.
    """
    if not same_sizes(order, target):
        raise UserError(
            f"{order.prefix}: the alignment must have one entry per target token; it was made "
            f"for another version of {target.prefix}"
        )
    _check_inside(order, source)


def check_further(further: TokenFile, source: TokenFile, target: TokenFile) -> None:
    """Check that ``further`` has for all tokens of a sentence of ``target`` equally many such
    numbers, perhaps none.

    Raises:
        UserError: if its sizes are others, or for the first link that lies outside.
    """
    fits = len(further) == len(target) and not any(
        (further.sizes[k : k + _PIECE] % target.sizes[k : k + _PIECE]).any()
        for k in range(0, len(target), _PIECE)
    )
    if not fits:
        raise UserError(
            f"{further.prefix}: further links must be equally many for each target token; it was "
            f"made for another version of {target.prefix}"
        )
    _check_inside(further, source)


def _check_inside(order: TokenFile, source: TokenFile) -> None:
    if (found := first_outside(order, source)) is not None:
        sentence, link, length = found
        raise UserError(
            f"{order.prefix}.bin: sentence {sentence} has a link to token {link} of the {length} "
            f"in {source.prefix}; prepare the folder again"
        )


def first_outside(order: TokenFile, source: TokenFile) -> tuple[int, int, int] | None:
    """The first item of ``order`` with a value that is not a token, counted from 1, of the same
    item of ``source``, nor 0: number of the item, value, tokens that there are.

    None if there is no such item. The files are read once per process.
    """
    return _first_outside(order.prefix, order.state(), source.prefix, source.state())


@functools.cache
def _first_outside(
    order: str, order_state: tuple, source: str, source_state: tuple
) -> tuple[int, int, int] | None:
    links, other = TokenFile(order), TokenFile(source)
    for start in range(0, len(links), _PIECE):
        partners, sizes = links.block(start, start + _PIECE)
        lengths = other.sizes[start : start + _PIECE]
        if len(lengths) < len(sizes):
            return start + len(lengths) + 1, int(partners[0]), 0
        wrong = (partners < 0) | (partners > np.repeat(lengths, sizes))
        if wrong.any():
            place = int(np.argmax(wrong))
            row = int(np.searchsorted(np.cumsum(sizes), place, "right"))
            return start + row + 1, int(partners[place]), int(lengths[row])
    return None
