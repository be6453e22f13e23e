"""Fit the map of one layer: normalisation of either side, then the matrices, from pairs.

Symbols: ``N`` rows or pairs, ``D`` and ``E`` widths. Rows are vectors; maps are applied from the
right.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fitted import LayerMap, Side
from fairseq_xling.mapping.paired import PAIRED, PairedMethod
from fairseq_xling.mapping.steps import Blocks, apply_steps, fit_steps
from fairseq_xling.mapping.sums import Sums, cosine_of


def fit_rows(
    x: Tensor, y: Tensor, method: str = "procrustes", normalize: str = "iterative"
) -> LayerMap:
    """The map of ``x`` to ``y`` (both (N, D); with some methods y may be (N, E)), row by row.

    ``fit_rows(x, y).moving(new)`` maps new rows, ``.fixed(new)`` maps new rows of the other side
    into the common space.

    Raises:
        UserError: for an unknown method or normalisation, rows that do not pair up, are not finite,
            or all zero.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], dtype=torch.float64)
    >>> turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    >>> found = fit_rows(x, x @ turn, normalize="centre")
    >>> torch.allclose(found.moving(x), found.fixed(x @ turn))
    True
    """
    if x.dim() != 2 or y.dim() != 2 or len(x) != len(y):
        raise UserError(f"rows to match must pair up, got {tuple(x.shape)} and {tuple(y.shape)}")
    if not (torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise UserError("vectors to match must be finite, got NaN or infinity")
    sides = [(each.shape[1], lambda each=each: [each[each.bool().any(1)]]) for each in (x, y)]
    return fit_layer(PAIRED[method](), *sides, [(x, y)], normalize)


def fit_layer(
    method: PairedMethod,
    moving: tuple[int, Blocks],
    fixed: tuple[int, Blocks],
    pairs: Iterable[tuple[Tensor, Tensor]],
    normalize: str,
) -> LayerMap:
    """The map that ``method`` finds.

    Args:
        moving, fixed: of either side its width, and all its vectors in blocks of rows (without zero
            rows), on which the normalisation is fitted.
        pairs: blocks of matching rows, (n, D) and (n, E). If one of the two is zero, such as that
            of a blank line, the pair is left out.

    Raises:
        UserError: if widths differ and must not, no pair remains, the vectors of a side are all
            identical, or so large that their squares are not finite.
    """
    widths = moving[0], fixed[0]
    if method.square and widths[0] != widths[1]:
        others = ", ".join(name for name in PAIRED if not PAIRED[name].square)
        raise UserError(
            f"this map needs both sides equally wide, got {widths[0]} and {widths[1]}; methods "
            f"without this restriction: {others}"
        )
    steps = [fit_steps(blocks, normalize) for _, blocks in (moving, fixed)]
    sums, blank = Sums(*widths), 0
    variety = _Variety(), _Variety()
    for x, y in pairs:
        there = x.bool().any(1) & y.bool().any(1)
        blank += int((~there).sum())
        for seen, z in zip(variety, (x, y), strict=True):
            seen.add(z[there])
        sums.add(*(apply_steps(z[there].double(), s) for z, s in zip((x, y), steps, strict=True)))
    if not sums.count:
        raise UserError(f"none of the {blank} pairs has non-zero vectors on both sides")
    for side, seen in zip(("moving", "fixed"), variety, strict=True):
        if sums.count > 1 and not seen.found:
            raise UserError(
                f"vectors to match must differ, those of the {side} side are all identical"
            )
    if not (torch.isfinite(sums.xx).all() and torch.isfinite(sums.yy).all()):
        raise UserError("vectors to match must have finite squares, got larger ones")
    found = method.solve(sums)
    fit = {"pairs": sums.count, "blank": blank, "cosine": cosine_of(sums, *found)}
    if widths[0] == widths[1]:
        fit["cosine_unmapped"] = cosine_of(sums, torch.eye(widths[0], dtype=torch.float64))
    return LayerMap(
        Side(widths[0], steps[0], found.moving), Side(widths[1], steps[1], found.fixed), fit
    )


class _Variety:
    """Whether rows that come in blocks are not all identical."""

    def __init__(self) -> None:
        self.found = False
        self._first: Tensor | None = None

    def add(self, rows: Tensor) -> None:
        if len(rows) and not self.found:
            self._first = rows[0].clone() if self._first is None else self._first
            self.found = bool((rows != self._first).any())
