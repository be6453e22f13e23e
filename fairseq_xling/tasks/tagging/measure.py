"""How much shared states h reveal of the language to a classifier that was not trained with them.

B sentences, N positions, D width.
"""

import numpy as np
import torch
from torch import Tensor


def pooled(states: Tensor, lengths: Tensor) -> Tensor:
    """The mean (B, D) over the real positions of ``states`` (B, N, D).

    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """
    inside = (torch.arange(states.shape[1], device=lengths.device) < lengths[:, None])[..., None]
    return states.masked_fill(~inside, 0).sum(1) / lengths[:, None]


def fresh_accuracy(source: np.ndarray, target: np.ndarray, seed: int = 0) -> float:
    """The accuracy of a new logistic regression of the language on vectors that it has not seen.

    Of each language as many sentences are drawn, and half of them are learnt from, so chance
    is 0.5. Vectors are taken as they are, with the usual penalty (C = 1): scaled to equal spread,
    a difference far below that of the sentences' contents would count as much as any other.

    Args:
        source, target: (B, D), one row for a sentence of that language.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    half = min(len(source), len(target)) // 2
    sides = [rows[rng.permutation(len(rows))[: 2 * half]] for rows in (source, target)]
    learn = np.concatenate([side[:half] for side in sides])
    test = np.concatenate([side[half:] for side in sides])
    labels = np.repeat([0, 1], half)
    return float(LogisticRegression(max_iter=1000).fit(learn, labels).score(test, labels))
