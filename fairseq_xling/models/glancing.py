"""Glancing: in training, some words of the translation are shown to the upper half.

Qian et al. (2021), "Glancing Transformer for Non-Autoregressive Neural Machine Translation": a
first pass shows how far the model is from the translation. Of that distance, the number of slots
that it would write differently, a share is shown: so many slots, drawn at random, start from the
embedding of their word instead of from the source's state. What is hard to say all at once becomes
easier to learn, and less is shown as the model improves and as the share falls.
"""

import torch
from torch import Tensor


def show(path: Tensor, guess: Tensor, share: float) -> Tensor:
    """The tokens to show, (R, S), -1 for none; ``path`` and ``guess`` are those of `Best`.

    >>> path, guess = torch.tensor([[7, 8, 9, -1]]), torch.tensor([[7, 0, 0, 0]])
    >>> shown = show(path, guess, 0.5)  # half of two wrong slots
    >>> int((shown >= 0).sum())
    1
    """
    real = path >= 0
    wrong = ((path != guess) & real).sum(1)
    number = (wrong * share).round()
    drawn = torch.rand(real.shape, device=real.device).masked_fill(~real, 2.0)
    rank = drawn.argsort(1).argsort(1)
    return path.masked_fill((rank >= number[:, None]) | ~real, -1)


def share_at(update: int, most_updates: int, first: float, last: float) -> float:
    """The share after ``update`` of ``most_updates`` updates, which falls evenly.

    >>> share_at(0, 100, 0.5, 0.25), share_at(50, 100, 0.5, 0.25), share_at(7, 0, 0.5, 0.25)
    (0.5, 0.375, 0.5)
    """
    done = min(1.0, update / most_updates) if most_updates > 0 else 0.0
    return first + (last - first) * done
