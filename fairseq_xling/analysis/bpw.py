"""Bits per word over fixed masks.

Li et al. 2021, "Cross-lingual Transferring of Pre-trained Contextualized Language Models" (TreLM),
appendix A.7: ``BPW = (sum of -log2 p(masked subword)) / (number of masked subwords)``, with the
same masks for every model. Every chosen position is replaced by ``<mask>``; random and kept
subwords would make the score depend on the vocabulary's size and on chance.

Scores are comparable between models with the same subwords.
"""

import math
from collections.abc import Iterable

import numpy as np
from torch import Tensor


def mask_positions(length: int, index: int, seed: int, share: float = 0.15) -> np.ndarray:
    """Positions of a sentence to predict, increasing; ``max(1, round(share * length))`` of them.

    They depend only on the mask seed, the sentence's index in its file and its length, not on
    batches, workers, epochs or other sentences.

    Args:
        length: number of subwords, special symbols not counted.

    >>> mask_positions(10, index=3, seed=7).tolist() == mask_positions(10, index=3, seed=7).tolist()
    True
    >>> len(mask_positions(20, index=0, seed=7)), len(mask_positions(1, index=0, seed=7))
    (3, 1)
    """
    if length == 0:
        return np.empty(0, dtype=np.int64)
    draws = np.random.default_rng([seed, index]).random(length)
    count = max(1, round(share * length))
    return np.sort(np.argsort(draws, kind="stable")[:count])


def bits_per_word(log_probs: Iterable[Tensor]) -> float:
    """``-(1/n) sum log2 p`` from pieces of natural-log probabilities of the masked subwords.

    >>> import torch
    >>> round(bits_per_word([torch.full((5,), -math.log(8)), torch.full((3,), -math.log(8))]), 6)
    3.0
    >>> bits_per_word([])
    nan
    """
    total, count = 0.0, 0
    for piece in log_probs:
        total -= float(piece.double().sum())
        count += piece.numel()
    return total / count / math.log(2) if count else math.nan
