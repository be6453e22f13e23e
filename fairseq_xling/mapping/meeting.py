"""Meeting in the middle: two aligned spaces are both mapped to their average.

Doval et al. 2018, "Improving Cross-Lingual Word Embeddings by Meeting in the Middle", as compared
by TreLM, Table 9 (MIM): after one space has been rotated onto the other, linear maps bring both
to the means of the pairs.

Symbols: ``N`` examples, ``D`` width. Rows are examples; maps are applied from the right.
"""

from typing import NamedTuple

from torch import Tensor

from fairseq_xling.mapping.least_squares import least_squares
from fairseq_xling.mapping.procrustes import procrustes


class Meeting(NamedTuple):
    """Maps (D, D) of the two spaces."""

    first: Tensor
    second: Tensor


def meet(x: Tensor, y: Tensor) -> Meeting:
    """The maps ``W (x W)^+ a`` and ``y^+ a`` to the average ``a = (x W + y) / 2``, W orthogonal.

    Args:
        x: (N, D).
        y: (N, D), row i belongs to row i of ``x``.

    Raises:
        ValueError: as `procrustes`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> maps = meet(x, 3 * x)  # the spaces differ in size alone: both come to twice x
    >>> torch.allclose(x @ maps.first, 2 * x), torch.allclose(3 * x @ maps.second, 2 * x)
    (True, True)
    """
    w = procrustes(x, y)
    rotated = x @ w
    middle = (rotated + y) / 2
    return Meeting(w @ least_squares(rotated, middle), least_squares(y, middle))
