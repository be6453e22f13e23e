"""One map of both sides, which pulls pairs together; the fixed side is anchored (TreLM, Table 9).

Cao, Kitaev and Klein 2020, "Multilingual Alignment of Contextual Word Representations", section
3.2, as compared by TreLM: a multilingual encoder is trained by gradient descent on

    L = sum over aligned pairs ||h_y - h_x||^2 + a sum ||h_y - h_y^0||^2

with ``h^0`` the states before training, y the source language and ``a`` the weight of the anchor.
Here only a linear map W of the encoder's states is trained, the same for all languages and
initialised as the identity. The loss is then quadratic, and gradient descent converges to

    W = I - (d^T d + a y^T y)^+ d^T d,    d = x - y

which is computed in one step. Without the anchor, W removes every direction in which pairs
differ. Directions that no pair has are unchanged.

Symbols: ``N`` pairs, ``D`` width. Rows are vectors; maps are applied from the right.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.mapping.paired import PAIRED, Matrices

if TYPE_CHECKING:
    from fairseq_xling.mapping.sums import Sums


@dataclasses.dataclass(frozen=True)
class AnchoredOptions:
    """How strong the anchor is."""

    anchor: float = option(
        1.0, "weight of keeping the fixed side's states in place, relative to 1 for the pairs"
    )


@PAIRED.register("anchored")
class Anchored:
    """See the module's docstring; ``anchor`` is ``a``.

    Raises:
        UserError: unless the anchor is finite and not negative.
    """

    help = "one map that pulls both sides, of one encoder, together; the fixed side is anchored"
    normalize = "none"
    square = True
    any_pairs = True
    options = AnchoredOptions

    def __init__(self, anchor: float = 1.0):
        if not (math.isfinite(anchor) and anchor >= 0):
            raise UserError(f"`--anchor` must be finite and not negative, got {anchor:g}")
        self.anchor = anchor

    def solve(self, sums: Sums) -> Matrices:
        import torch

        from fairseq_xling.mapping.sums import least_squares_of

        apart = sums.xx - sums.xy - sums.xy.T + sums.yy
        change = least_squares_of(apart + self.anchor * sums.yy, apart)
        w = torch.eye(len(apart), dtype=apart.dtype) - change
        return Matrices(w, w)
