"""Valid seeds: the same for every command, accepted by numpy, torch and fairseq; and draws by
content, which need none."""

import hashlib

from fairseq_xling.core.ranges import Number, Range

MOST = 2**32 - 1  # of numpy's older generator, which fairseq seeds, too
SEEDS = Range(0, MOST)
SEED = Number(int, SEEDS)  # the type of an argument


def drawn(text: str) -> int:
    """A number below 2**64 that depends on ``text`` alone: equal texts fall on one side of a split.

    >>> drawn("dog") == drawn("dog") != drawn("dogs")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
