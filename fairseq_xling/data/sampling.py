"""How often each language is seen, and in which order its sentences.

Pires et al. (2019), Eq. 1; Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.1.

A random permutation of any size is computed by position, in constant memory. A Feistel network is a
bijection whatever its round function (Luby and Rackoff, 1988), so shuffling a corpus needs no array
of indices: position i of pass p goes to ``permute(i, n, seed, p)``. Values that fall outside [0, n)
follow their cycle until they are back inside.
"""

from collections.abc import Mapping

import numpy as np

from fairseq_xling.core.errors import UserError


def smoothed_shares(sizes: Mapping[str, int], alpha: float) -> dict[str, float]:
    """q_i = p_i^alpha / sum_j p_j^alpha, where p_i is the fraction of sentences in language i.

    alpha = 1 keeps the sizes' proportions, alpha = 0 gives every language the same share.

    >>> {k: round(q, 3) for k, q in smoothed_shares({"en": 90, "sw": 10}, 0.7).items()}
    {'en': 0.823, 'sw': 0.177}

    Raises:
        UserError: if ``alpha`` is outside [0, 1] or a size is not positive.
    """
    if not 0 <= alpha <= 1:
        raise UserError(f"`--lang-sampling-alpha` must lie in [0, 1], got {alpha}")
    for name, size in sizes.items():
        if size <= 0:
            raise UserError(f"{name!r} has no sentences to sample from")
    logs = np.log(np.array(list(sizes.values()), dtype=np.float64))
    weights = np.exp(alpha * (logs - logs.max()))
    return dict(zip(sizes, (weights / weights.sum()).tolist(), strict=True))


_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1
_ROUNDS = 6


def mix(*values: int) -> int:
    """A 64-bit hash of non-negative integers (splitmix64's finaliser, chained).

    >>> mix(1, 2) == mix(1, 2), mix(1, 2) == mix(2, 1)
    (True, False)
    """
    state = 0
    for value in values:
        state = (state + value + _MULTIPLIERS[0]) & _MASK
        state = ((state ^ (state >> 30)) * _MULTIPLIERS[1]) & _MASK
        state = ((state ^ (state >> 27)) * _MULTIPLIERS[2]) & _MASK
        state ^= state >> 31
    return state


def permute(positions: np.ndarray, size: int, *key: int) -> np.ndarray:
    """The images of ``positions`` under a random permutation of ``range(size)``, chosen by ``key``.

    Args:
        positions: (n,) integers in [0, size).
        size: how many elements are permuted.
        key: any non-negative integers, such as a seed and a pass.

    Returns:
        (n,) int64 in [0, size); all of ``range(size)`` once for all of ``range(size)``.

    >>> permute(np.arange(5), 5, 7).tolist()
    [1, 4, 0, 2, 3]
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = np.uint64((1 << half) - 1)
    keys = [np.uint64(mix(size, round_, *key)) for round_ in range(_ROUNDS)]
    values = np.asarray(positions, dtype=np.uint64).copy()
    outside = np.ones(len(values), dtype=bool)
    while outside.any():
        left, right = values[outside] >> np.uint64(half), values[outside] & low
        for round_key in keys:
            left, right = right, left ^ (_scramble(right + round_key) & low)
        values[outside] = (left << np.uint64(half)) | right
        outside[outside] = values[outside] >= size
    return values.astype(np.int64)


def _scramble(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(_MULTIPLIERS[1])
        values = (values ^ (values >> np.uint64(27))) * np.uint64(_MULTIPLIERS[2])
    return values ^ (values >> np.uint64(31))
