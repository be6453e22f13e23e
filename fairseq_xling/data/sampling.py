"""How often each language is seen.

Pires et al. (2019), Eq. 1; Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.1.
"""

from collections.abc import Mapping

import numpy as np

from fairseq_xling.errors import UserError


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
