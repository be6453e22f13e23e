"""How much shared states h reveal of the language: by D, and by a fresh classifier.

B sentences, N positions, D width.
"""

import warnings

import numpy as np
import torch
from torch import Tensor


def pooled(states: Tensor, lengths: Tensor) -> Tensor:
    """Mean and maximum (B, 2D) over the real positions of ``states`` (B, N, D).

    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0, 3.0]]
    """
    inside = (torch.arange(states.shape[1], device=lengths.device) < lengths[:, None])[..., None]
    mean = states.masked_fill(~inside, 0).sum(1) / lengths[:, None]
    return torch.cat([mean, states.masked_fill(~inside, -torch.inf).amax(1)], 1)


def fresh_accuracy(source: np.ndarray, target: np.ndarray, seed: int = 0) -> float:
    """The accuracy of a new logistic regression of the language, on vectors that it has not seen.

    Of each language as many sentences are drawn, and half of them are learnt from, so chance
    is 0.5.

    Args:
        source, target: (B, D), one row for a sentence of that language.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    half = min(len(source), len(target)) // 2
    sides = [rows[rng.permutation(len(rows))[: 2 * half]] for rows in (source, target)]
    learn, test = (
        np.concatenate([side[half * n : half * (n + 1)] for side in sides]) for n in (0, 1)
    )
    mean, spread = learn.mean(0), learn.std(0) + 1e-6
    labels = np.repeat([0, 1], half)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fresh = LogisticRegression(max_iter=1000).fit((learn - mean) / spread, labels)
    return float(fresh.score((test - mean) / spread, labels))
