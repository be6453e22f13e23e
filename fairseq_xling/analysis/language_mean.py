"""The mean of a language's token states, and the difference to another language's.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 4.1:

    R_L^l = mean over the tokens of L's corpus of h^l,     D_{A->B}^l = R_B^l - R_A^l

Added to the states of A, ``alpha D_{A->B}`` shifts them towards B's (mean difference shift).

Symbols: ``L`` layers (states 0..L, 0 = embedding output), ``B`` batch, ``T`` length, ``K`` tokens,
``D`` width.
"""

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError


class LanguageMean:
    """Running mean of one language's token states at every layer; memory is one vector per layer.

    Every token counts once, so long sentences count more than short ones. Sums are in double
    precision: batches of any size and order give the same mean.

    >>> mean = LanguageMean()
    >>> mean.add(torch.tensor([[[[9.0], [1.0], [3.0]]]]), torch.tensor([[False, True, True]]))
    >>> mean.add(torch.tensor([[[[8.0]]]]), torch.tensor([[True]]))
    >>> mean.value().tolist(), mean.count
    ([[4.0]], 3)
    """

    def __init__(self) -> None:
        self.count = 0
        self._sums: Tensor | None = None

    def add(self, states: Tensor, words: Tensor) -> None:
        """Add the tokens of a batch.

        Args:
            states: (L+1, B, T, D), or any number of layers; positions outside ``words`` have no
                influence.
            words: (B, T) bool, True at the tokens that count, False at special symbols and padding.

        Raises:
            UserError: if a state that counts is not finite.
        """
        # Layer by layer: only one is in double precision at a time.
        sums = torch.stack([layer[words].double().sum(0) for layer in states])
        if not torch.isfinite(sums).all():
            raise UserError("states must be finite, got NaN or infinity")
        self._sums = sums if self._sums is None else self._sums + sums.to(self._sums)
        self.count += int(words.sum())

    def value(self) -> Tensor:
        """The mean (L+1, D) in double precision, ``R^l`` in row l.

        Raises:
            UserError: if no token was counted.
        """
        sums, count = self.state()
        return sums / count

    def state(self) -> tuple[Tensor, int]:
        """Sums (L+1, D) in double precision and the count, for `load`; errors as `value`."""
        if self._sums is None or not self.count:
            raise UserError("the mean of a language needs at least 1 token, got 0")
        return self._sums, self.count

    def load(self, sums: Tensor, count: int) -> None:
        """Resume from a `state`."""
        self._sums, self.count = sums, count


def mean_difference(source: Tensor, target: Tensor) -> Tensor:
    """``D_{A->B} = R_B - R_A``, the difference from the mean of A to that of B.

    ``D_{B->A} = -D_{A->B}`` and ``D_{A->C} = D_{A->B} + D_{B->C}``.

    Args:
        source: ``R_A``; target: ``R_B``, both (L+1, D).

    Raises:
        UserError: if shapes differ.

    >>> mean_difference(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 5.0]])).tolist()
    [[-1.0, 5.0]]
    """
    if source.shape != target.shape:
        raise UserError(
            "means of two languages must have the same layers and width, "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    return target - source


def random_direction(difference: Tensor, seed: int) -> Tensor:
    """A random vector for each layer, as long as its mean difference: the control of a shift.

    Args:
        difference: (L+1, D).

    >>> control = random_direction(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), seed=1)
    >>> control.norm(dim=1).tolist()
    [5.0, 0.0]
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(difference.shape, generator=generator, dtype=difference.dtype)
    return drawn * (difference.norm(dim=1) / drawn.norm(dim=1))[:, None]
