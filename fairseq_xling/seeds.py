"""Valid seeds: the same for every command, accepted by numpy, torch and fairseq."""

import argparse

from fairseq_xling.errors import UserError

MOST = 2**32 - 1  # of numpy's older generator, which fairseq seeds, too


def check_seed(option: str, seed: int) -> int:
    """``seed``, if every generator accepts it.

    >>> check_seed("--seed", 7)
    7

    Raises:
        UserError: if it is negative or above `MOST`; names ``option``.
    """
    if seed < 0:
        raise UserError(f"`{option}` must not be negative, got {seed}")
    if seed > MOST:
        raise UserError(f"`{option}` must be at most {MOST}, got {seed}")
    return seed


def check_seeds(args: argparse.Namespace) -> None:
    """`check_seed` of every seed option: ``seed`` and those that end in ``_seed``."""
    for name, value in vars(args).items():
        if (name == "seed" or name.endswith("_seed")) and isinstance(value, int):
            check_seed(f"--{name.replace('_', '-')}", value)
