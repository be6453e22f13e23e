"""Linear CKA: how alike two representations of the same examples are, up to rotation and size.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5.2
(SPEC S8), after Kornblith et al. 2019, "Similarity of Neural Network Representations Revisited",
section 3:

    CKA(X, Y) = ||Yc^T Xc||_F^2 / (||Xc^T Xc||_F ||Yc^T Yc||_F),   Xc = H X,   H = I - (1/N) 1 1^T

The paper prints X and Y without H, though it defines it; only with H does the measure ignore a
constant offset, so H is applied (SPEC G13).

Symbols: ``N`` examples, ``D`` and ``E`` the widths of the two representations, ``B`` rows of a
chunk. **Rows are examples.**
"""

import math

import torch
from torch import Tensor

from fairseq_xling.errors import UserError

_BLOCK = 4096  # rows that are in double precision at a time


class CKA:
    """Linear CKA of rows that come in chunks; memory is O((D + E)^2), whatever N is.

    The sums of centred products are kept in double precision and joined by the update of Chan,
    Golub and LeVeque (1983), which never subtracts two large sums. The first row is taken off all
    others: a large common offset then costs no digits, and constant input gives exact zeros.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> same = CKA()
    >>> same.update(x[:2], 5 * x[:2] + 100)
    >>> same.update(x[2:], 5 * x[2:] + 100)
    >>> round(same.value(), 12), same.rows
    (1.0, 3)
    """

    def __init__(self) -> None:
        self.rows = 0
        self._widths: tuple[int, int] | None = None

    def update(self, x: Tensor, y: Tensor) -> None:
        """Count B more examples.

        Args:
            x: (B, D); y: (B, E); row i of both is the same example. B may be 0.

        Raises:
            UserError: if the rows do not pair up, a width is another than before, or a value is
                NaN or infinite; what was counted before stays as it was.
        """
        self._check(x, y)
        for start in range(0, len(x), _BLOCK):
            self._add(x[start : start + _BLOCK].double(), y[start : start + _BLOCK].double())

    def value(self) -> float:
        """CKA of all rows so far, in [0, 1].

        Raises:
            UserError: if there are fewer than 2 rows, or all rows of one side are the same.
        """
        if self.rows < 2:
            raise UserError(f"CKA needs at least 2 rows, got {self.rows}")
        sizes = [float(torch.trace(sums)) for sums in (self._xx, self._yy)]
        if not all(map(math.isfinite, sizes)):
            raise UserError("CKA needs values whose squares are finite, got larger ones")
        for name, size in zip("xy", sizes, strict=True):
            if not size:
                raise UserError(f"CKA needs rows that differ, those of `{name}` are all the same")
        # Each sum is brought to size 1 before it is squared: tiny or huge states lose nothing.
        cross = self._xy / math.sqrt(sizes[0]) / math.sqrt(sizes[1])
        own = float((self._xx / sizes[0]).norm() * (self._yy / sizes[1]).norm())
        return min(1.0, float(cross.square().sum()) / own)  # 1 + 2e-16 is a rounding error

    def _check(self, x: Tensor, y: Tensor) -> None:
        shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
        if x.dim() != 2 or y.dim() != 2:
            raise UserError(f"`x` and `y` must be matrices of examples in rows, got {shapes}")
        if len(x) != len(y):
            raise UserError(f"`x` and `y` must have equally many rows, got {len(x)} and {len(y)}")
        widths = (x.shape[1], y.shape[1])
        if self._widths not in (None, widths):
            raise UserError(f"widths must stay {self._widths}, got {widths}")
        for name, values in (("x", x), ("y", y)):
            for start in range(0, len(values), _BLOCK):
                finite = torch.isfinite(values[start : start + _BLOCK]).all(1)
                if not finite.all():
                    row = self.rows + start + int((~finite).nonzero()[0])
                    raise UserError(f"`{name}` must be finite, got NaN or infinity in row {row}")

    def _add(self, x: Tensor, y: Tensor) -> None:
        if not self.rows:
            self._widths = (x.shape[1], y.shape[1])
            self._origin = x[0].clone(), y[0].clone()
            self._mean = torch.zeros_like(x[0]), torch.zeros_like(y[0])
            self._xx, self._yy, self._xy = (
                x.new_zeros(len(a), len(b)) for a, b in ((x[0], x[0]), (y[0], y[0]), (x[0], y[0]))
            )
        x, y = x - self._origin[0], y - self._origin[1]
        mean = x.mean(0), y.mean(0)
        x, y = x - mean[0], y - mean[1]
        total = self.rows + len(x)
        gap = mean[0] - self._mean[0], mean[1] - self._mean[1]
        weight = self.rows * len(x) / total
        self._xx += x.T @ x + weight * torch.outer(gap[0], gap[0])
        self._yy += y.T @ y + weight * torch.outer(gap[1], gap[1])
        self._xy += x.T @ y + weight * torch.outer(gap[0], gap[1])
        self._mean = tuple(m + g * (len(x) / total) for m, g in zip(self._mean, gap, strict=True))
        self.rows = total


def linear_cka(x: Tensor, y: Tensor) -> float:
    """`CKA` of whole arrays, (N, D) and (N, E).

    1 for representations that differ by rotation, one factor for all, and offset; about
    ``D / (N + D)`` for independent Gaussians of equal width, so few examples make all alike.

    Raises:
        UserError: as `CKA.update` and `CKA.value`.

    >>> x = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> round(linear_cka(x, x @ torch.tensor([[0.0, 3.0], [-3.0, 0.0]]) + 7), 12)
    1.0
    >>> round(linear_cka(x, x[:, :1]), 6)  # (2^2) / (sqrt(2^2 + 2^2) 2)
    0.707107
    """
    sums = CKA()
    sums.update(x, y)
    return sums.value()
