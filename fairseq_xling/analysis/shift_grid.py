"""The grid of token translation: the layers and sizes of shifts, and the best cell.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", sections 4.2.1 and 4.2.2.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairseq_xling.core.errors import UserError

Scores = Mapping[str, Any]


@dataclass(frozen=True, order=True)
class Shift:
    """One shift: ``alpha`` mean differences at ``layer``; layer 0 means no shift."""

    layer: int
    alpha: float

    @property
    def code(self) -> str:
        """Its name in files.

        >>> Shift(11, 3).code, Shift(2, -0.5).code, NO_SHIFT.code
        ('layer11-alpha3', 'layer02-alpha-0.5', 'no-shift')
        """
        return f"layer{self.layer:02d}-alpha{self.alpha:g}" if self.layer else "no-shift"


NO_SHIFT = Shift(0, 0.0)


def parse_alphas(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, in the order given.

    >>> parse_alphas("1,2,-0.5")
    (1.0, 2.0, -0.5)
    """
    try:
        found = tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise UserError(f"`--alphas` must be numbers such as 1,2,3,-1, got {text!r}") from None
    if not all(math.isfinite(alpha) and alpha for alpha in found) or len({*found}) < len(found):
        raise UserError(f"`--alphas` must be different, finite and not 0, got {text!r}")
    return found


def parse_shift(text: str, last: int) -> Shift:
    """A layer and an alpha, comma-separated.

    >>> parse_shift("11,3", 12)
    Shift(layer=11, alpha=3.0)
    """
    layer, _, alpha = text.partition(",")
    if not layer.strip().isdecimal() or not 1 <= int(layer) <= last:
        raise UserError(f"`--fixed` must be LAYER,ALPHA with a layer in [1, {last}], got {text!r}")
    try:
        (number,) = parse_alphas(alpha)
        return Shift(int(layer), number)
    except ValueError:
        raise UserError(f"`--fixed` must be LAYER,ALPHA such as 11,3, got {text!r}") from None


def best_shift(scores: Mapping[Shift, Scores]) -> Shift:
    """The shift with the highest BLEU-1 precision; ties go to the smallest alpha, then layer.

    >>> best_shift({Shift(1, 1.0): {"precision": 5.0}, Shift(1, -1.0): {"precision": 6.0},
    ...            NO_SHIFT: {"precision": 9.0}})
    Shift(layer=1, alpha=-1.0)

    Raises:
        ValueError: if nothing was shifted.
    """
    shifted = [cell for cell in scores if cell != NO_SHIFT]
    return min(shifted, key=lambda cell: (-scores[cell]["precision"], abs(cell.alpha), cell.layer))
