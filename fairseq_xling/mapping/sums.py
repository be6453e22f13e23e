"""The sufficient statistics of a linear map between paired vectors, summed in blocks.

Procrustes, least squares and meeting in the middle are all functions of ``x^T x``, ``x^T y`` and
``y^T y``: any number of pairs needs the memory of three matrices. In double precision the squares
lose nothing of float32 states: a direction that vanishes among their rounding errors (1e-7 of the
largest) vanishes among those of its square (1e-16).

Symbols: ``N`` pairs, ``D`` and ``E`` widths. Rows are vectors; maps are applied from the right.
"""

import torch
from torch import Tensor


class Sums:
    """Sums over pairs of rows (float64); ``xx`` (D, D), ``xy`` (D, E), ``yy`` (E, E), ``count`` N.

    >>> sums = Sums(2, 2)
    >>> sums.add(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
    >>> sums.add(torch.tensor([[0.0, 2.0]]), torch.tensor([[-2.0, 0.0]]))
    >>> sums.xy.tolist(), sums.count
    ([[0.0, 1.0], [-4.0, 0.0]], 2)
    """

    def __init__(self, width: int, other: int):
        self.count = 0
        self.xx = torch.zeros(width, width, dtype=torch.float64)
        self.xy = torch.zeros(width, other, dtype=torch.float64)
        self.yy = torch.zeros(other, other, dtype=torch.float64)

    def add(self, x: Tensor, y: Tensor) -> None:
        """Add pairs of rows, (n, D) and (n, E)."""
        x, y = x.to(self.xx), y.to(self.yy)
        self.count += len(x)
        self.xx.addmm_(x.T, x)
        self.xy.addmm_(x.T, y)
        self.yy.addmm_(y.T, y)


def least_squares_of(xx: Tensor, xy: Tensor) -> Tensor:
    """``argmin_W ||x W - y|| = (x^T x)^+ x^T y`` (D, E); of several the one with the smallest norm.

    >>> least_squares_of(torch.tensor([[4.0, 0.0], [0.0, 0.0]]), torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000],
            [0.0000]])
    """
    return torch.linalg.pinv(xx, hermitian=True) @ xy


def cosine_of(sums: Sums, first: Tensor, second: Tensor | None = None) -> float:
    """``<x A, y B> / (||x A|| ||y B||)``: 1 is a perfect map; without B that is the identity.

    It is the cosine of all rows together: the mean of the pairs' cosines if all rows have the same
    length.

    >>> sums = Sums(2, 2)
    >>> sums.add(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [2.0, 0.0]]))
    >>> cosine_of(sums, torch.eye(2))
    0.5
    """
    a = first.to(sums.xx)
    b = torch.eye(len(sums.yy), dtype=a.dtype) if second is None else second.to(a)
    sizes = torch.trace(a.T @ sums.xx @ a) * torch.trace(b.T @ sums.yy @ b)
    return float(torch.trace(a.T @ sums.xy @ b) / sizes.sqrt()) if sizes > 0 else 0.0
