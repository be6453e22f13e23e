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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_xling.errors import UserError

_BLOCK = 4096  # rows that are in double precision at a time


class CrossProduct:
    """``Xc^T Yc`` (D, E) of rows that come in chunks, in double precision.

    Sums are joined by the update of Chan, Golub and LeVeque (1983), which never subtracts two large
    ones. The first row is taken off all others: a large common offset then costs no digits, and
    constant input gives exact zeros.

    >>> sums = CrossProduct()
    >>> sums.add(torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [6.0]]))
    >>> sums.value.tolist(), sums.rows
    ([[1.0]], 2)
    """

    def __init__(self) -> None:
        self.rows = 0

    def add(self, x: Tensor, y: Tensor) -> None:
        """Count the rows of x (B, D) and y (B, E), which pair up; nothing is checked here."""
        for start in range(0, len(x), _BLOCK):
            self._add(x[start : start + _BLOCK].double(), y[start : start + _BLOCK].double())

    def _add(self, x: Tensor, y: Tensor) -> None:
        if not self.rows:
            self._origin = x[0].clone(), y[0].clone()
            self._mean = torch.zeros_like(x[0]), torch.zeros_like(y[0])
            self.value = x.new_zeros(x.shape[1], y.shape[1])
        x, y = x - self._origin[0], y - self._origin[1]
        mean = x.mean(0), y.mean(0)
        total = self.rows + len(x)
        gap = mean[0] - self._mean[0], mean[1] - self._mean[1]
        self.value += (x - mean[0]).T @ (y - mean[1])
        self.value += (self.rows * len(x) / total) * torch.outer(*gap)
        self._mean = tuple(m + g * (len(x) / total) for m, g in zip(self._mean, gap, strict=True))
        self.rows = total


@dataclass(frozen=True)
class Spread:
    """How large a representation's own sums are: ``trace(Xc^T Xc)``, and the norm of
    ``Xc^T Xc / trace``."""

    trace: float
    norm: float

    @classmethod
    def of(cls, sums: CrossProduct, name: str) -> "Spread":
        """Of the sums of ``name`` with itself.

        Raises:
            UserError: for fewer than 2 rows, rows that are all the same, or values too large.
        """
        if sums.rows < 2:
            raise UserError(f"CKA needs at least 2 rows, got {sums.rows}")
        trace = float(torch.trace(sums.value))
        if not math.isfinite(trace):
            raise UserError("CKA needs values whose squares are finite, got larger ones")
        if not trace:
            raise UserError(f"CKA needs rows that differ, those of `{name}` are all the same")
        return cls(trace, float((sums.value / trace).norm()))


def _cka(cross: CrossProduct, x: Spread, y: Spread) -> float:
    # Each sum is brought to size 1 before it is squared: tiny or huge states lose nothing.
    scaled = cross.value / math.sqrt(x.trace) / math.sqrt(y.trace)
    # 1 + 2e-16 is a rounding error.
    return min(1.0, float(scaled.square().sum()) / (x.norm * y.norm))


class CKA:
    """Linear CKA of rows that come in chunks; memory is O((D + E)^2), whatever N is.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> same = CKA()
    >>> same.update(x[:2], 5 * x[:2] + 100)
    >>> same.update(x[2:], 5 * x[2:] + 100)
    >>> round(same.value(), 12), same.rows
    (1.0, 3)
    """

    def __init__(self) -> None:
        self._widths: tuple[int, int] | None = None
        self._xx, self._yy, self._xy = CrossProduct(), CrossProduct(), CrossProduct()

    @property
    def rows(self) -> int:
        """How many examples were counted."""
        return self._xy.rows

    def update(self, x: Tensor, y: Tensor) -> None:
        """Count B more examples.

        Args:
            x: (B, D); y: (B, E); row i of both is the same example. B may be 0.

        Raises:
            UserError: if the rows do not pair up, a width is another than before, or a value is
                NaN or infinite; what was counted before stays as it was.
        """
        self._check(x, y)
        self._widths = (x.shape[1], y.shape[1])
        for sums, a, b in ((self._xx, x, x), (self._yy, y, y), (self._xy, x, y)):
            sums.add(a, b)

    def value(self) -> float:
        """CKA of all rows so far, in [0, 1].

        Raises:
            UserError: if there are fewer than 2 rows, or all rows of one side are the same.
        """
        return _cka(self._xy, Spread.of(self._xx, "x"), Spread.of(self._yy, "y"))

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


def cka_matrix(
    xs: Sequence[Callable[[], Iterable[Tensor]]],
    ys: Sequence[Callable[[], Iterable[Tensor]]],
    done: Callable[[], None] = lambda: None,
) -> Tensor:
    """Linear CKA of every layer of one encoder with every layer of another.

    Only one product of two layers is in memory at a time, so the rows of a layer are read as often
    as there are layers on the other side.

    Args:
        xs: for each of K layers what gives its rows, (B, D) at a time, from the first on.
        ys: the same for the other's J layers, with as many rows in blocks of the same size.
        done: called after each of the ``K J + K + J`` sums.

    Returns:
        (K, J) in double precision: ``matrix[k, j]`` is that of ``xs[k]`` and ``ys[j]``.

    Raises:
        UserError: for fewer than 2 rows, or a layer whose rows are all the same. Blocks are not
            checked.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> cka_matrix([lambda: [x], lambda: [x[:, :1]]], [lambda: [3 * x]]).round(decimals=4).tolist()
    [[1.0], [0.6]]
    """
    spreads: list[list[Spread]] = []
    for side, name in ((xs, "x"), (ys, "y")):
        spreads.append([])
        for layer in side:
            spreads[-1].append(Spread.of(_sums(layer(), layer()), name))
            done()
    matrix = torch.empty(len(xs), len(ys), dtype=torch.float64)
    for k, x in enumerate(xs):
        for j, y in enumerate(ys):
            matrix[k, j] = _cka(_sums(x(), y()), spreads[0][k], spreads[1][j])
            done()
    return matrix


def _sums(x: Iterable[Tensor], y: Iterable[Tensor]) -> CrossProduct:
    sums = CrossProduct()
    for a, b in zip(x, y, strict=True):
        sums.add(a, b)
    return sums
