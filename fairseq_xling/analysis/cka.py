"""Linear CKA: the similarity of two representations of the same examples, up to rotation and scale.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5.2,
after Kornblith et al. 2019, "Similarity of Neural Network Representations Revisited", section 3:

    CKA(X, Y) = ||Yc^T Xc||_F^2 / (||Xc^T Xc||_F ||Yc^T Yc||_F),   Xc = H X,   H = I - (1/N) 1 1^T

The paper prints X and Y without H, though it defines it; only with H does the measure ignore a
constant offset, so H is applied.

Symbols: ``N`` examples, ``D`` and ``E`` the widths of the two representations, ``B`` rows of a
chunk. **Rows are examples.**
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError

_BLOCK = 4096  # rows that are in double precision at a time


class Centred(NamedTuple):
    """A centred chunk of rows, and the distance of its mean from that of all rows before.

    Attributes:
        rows: (B, D) float64.
        gap: (D,) mean of the chunk less the mean of the n rows before it.
        weight: ``n B / (n + B)``, the weight of the gap in Chan, Golub and LeVeque (1983).
    """

    rows: Tensor
    gap: Tensor
    weight: float


class Centring:
    """Centres rows that come in chunks.

    The first row is subtracted from all others: a large common offset then costs no precision, and
    constant input gives exact zeros.
    """

    def __init__(self) -> None:
        self.rows = 0

    def take(self, x: Tensor) -> Iterator[Centred]:
        """The rows of x (B, D), some at a time, in double precision; nothing is checked here."""
        for start in range(0, len(x), _BLOCK):
            block = x[start : start + _BLOCK].double()
            if not self.rows:
                self._origin, self._mean = block[0].clone(), torch.zeros_like(block[0])
            moved = block - self._origin
            mean = moved.mean(0)
            gap, before = mean - self._mean, self.rows
            self.rows += len(moved)
            self._mean += gap * (len(moved) / self.rows)
            yield Centred(moved.sub_(mean), gap, before * len(moved) / self.rows)


class CrossProduct:
    """``Xc^T Yc`` (D, E) of rows that come in chunks, in double precision.

    Sums are joined by the update of Chan, Golub and LeVeque (1983), which never subtracts two large
    ones.

    >>> sums, x, y = CrossProduct(), torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [6.0]])
    >>> for pair in zip(Centring().take(x), Centring().take(y)):
    ...     sums.add(*pair)
    >>> sums.value.tolist(), sums.rows
    ([[1.0]], 2)
    """

    def __init__(self) -> None:
        self.rows = 0

    def add(self, x: Centred, y: Centred) -> None:
        """Add the rows of x and y, which pair up."""
        if not self.rows:
            self.value = x.rows.new_zeros(len(x.gap), len(y.gap))
        self.value.addmm_(x.rows.T, y.rows)
        self.value.addr_(x.gap, y.gap, alpha=x.weight)
        self.rows += len(x.rows)


def _spread(sums: CrossProduct, name: str) -> tuple[float, float]:
    """``trace(Xc^T Xc)``, and the norm of ``Xc^T Xc / trace``; ``name`` is for messages."""
    if sums.rows < 2:
        raise UserError(f"CKA needs at least 2 rows, got {sums.rows}")
    trace = float(torch.trace(sums.value))
    if not math.isfinite(trace):
        raise UserError("CKA needs values whose squares are finite, got larger ones")
    if not trace:
        raise UserError(f"CKA needs rows that differ, those of `{name}` are all identical")
    return trace, float((sums.value / trace).norm())


def _cka(cross: CrossProduct, x: tuple[float, float], y: tuple[float, float]) -> float:
    # Each sum is scaled to 1 before it is squared: tiny or huge states lose no precision.
    scaled = cross.value / math.sqrt(x[0]) / math.sqrt(y[0])
    # 1 + 2e-16 is a rounding error.
    return min(1.0, float(scaled.square().sum()) / (x[1] * y[1]))


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
        self._x, self._y = Centring(), Centring()
        self._xx, self._yy, self._xy = CrossProduct(), CrossProduct(), CrossProduct()

    @property
    def rows(self) -> int:
        """The number of examples so far."""
        return self._xy.rows

    def update(self, x: Tensor, y: Tensor) -> None:
        """Add B more examples.

        Args:
            x: (B, D); y: (B, E); row i of both is the same example. B may be 0.

        Raises:
            UserError: if the rows do not pair up, a width is another than before, or a value is
                NaN or infinite; the earlier examples are kept.
        """
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
        self._widths = widths
        for a, b in zip(self._x.take(x), self._y.take(y), strict=True):
            self._xx.add(a, a)
            self._yy.add(b, b)
            self._xy.add(a, b)

    def value(self) -> float:
        """CKA of all rows so far, in [0, 1].

        Raises:
            UserError: if there are fewer than 2 rows, or all rows of one side are identical.
        """
        return _cka(self._xy, _spread(self._xx, "x"), _spread(self._yy, "y"))


def linear_cka(x: Tensor, y: Tensor) -> float:
    """`CKA` of whole arrays, (N, D) and (N, E).

    1 for representations that differ by rotation, one factor for all, and offset; about
    ``D / (N + D)`` for independent Gaussians of equal width, so with few examples all look alike.

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
        xs: for each of K layers a function that yields its rows, (B, D) at a time.
        ys: the same for the other's J layers, with as many rows in blocks of the same size.
        done: called after each of the ``K J + K + J`` sums.

    Returns:
        (K, J) in double precision: ``matrix[k, j]`` is that of ``xs[k]`` and ``ys[j]``.

    Raises:
        UserError: for fewer than 2 rows, or a layer whose rows are all identical. Blocks are not
            checked.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> cka_matrix([lambda: [x], lambda: [x[:, :1]]], [lambda: [3 * x]]).round(decimals=4).tolist()
    [[1.0], [0.6]]
    """
    spreads: list[list[tuple[float, float]]] = []
    for side, name in ((xs, "x"), (ys, "y")):
        spreads.append([])
        for layer in side:
            sums = CrossProduct()
            for rows in _centred(layer()):
                sums.add(rows, rows)
            spreads[-1].append(_spread(sums, name))
            done()
    matrix = torch.empty(len(xs), len(ys), dtype=torch.float64)
    for k, x in enumerate(xs):
        for j, y in enumerate(ys):
            sums = CrossProduct()
            for a, b in zip(_centred(x()), _centred(y()), strict=True):
                sums.add(a, b)
            matrix[k, j] = _cka(sums, spreads[0][k], spreads[1][j])
            done()
    return matrix


def _centred(chunks: Iterable[Tensor]) -> Iterator[Centred]:
    centring = Centring()
    for chunk in chunks:
        yield from centring.take(chunk)
