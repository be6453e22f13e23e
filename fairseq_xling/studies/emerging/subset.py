"""A random subset of a text, as large as another text (setting A2: domain, not size, differs)."""

from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines


def write_subset(source: Path, like: Path, output: Path, seed: int) -> None:
    """Random lines of ``source``, in their order, with as many characters as ``like`` has.

    The last line drawn is kept if that brings the size closer. Characters are counted because
    words are not marked in every language.

    Raises:
        UserError: if ``source`` is smaller than ``like``.
    """
    wanted = sum(len(line) for line in read_lines(like))
    lengths = np.array([len(line) for line in read_lines(source)], dtype=np.int64)
    if lengths.sum() < wanted:
        raise UserError(
            f"{source}: must be at least as large as {like}, "
            f"got {lengths.sum():,} and {wanted:,} characters"
        )
    order = np.random.default_rng(seed).permutation(len(lengths))
    totals = np.cumsum(lengths[order])
    count = int(np.searchsorted(totals, wanted))
    before = totals[count - 1] if count else 0
    count += bool(totals[count] - wanted <= wanted - before) if count < len(totals) else 0
    chosen = np.zeros(len(lengths), dtype=bool)
    chosen[order[:count]] = True
    with atomic_write(output, "w") as file:
        for keep, line in zip(chosen, read_lines(source), strict=True):
            if keep:
                file.write(line + "\n")
