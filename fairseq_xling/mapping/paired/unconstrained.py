"""The unconstrained linear map.

Huang, Ji and May 2019, "Cross-lingual Multi-Level Adversarial Transfer", Eq. 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairseq_xling.mapping.paired import PAIRED, Matrices

if TYPE_CHECKING:
    from fairseq_xling.mapping.sums import Sums


@PAIRED.register("unconstrained")
class Unconstrained:
    """``argmin_W ||x W - y||``; it can also map between encoders of different width."""

    help = "the linear map with the smallest error on pairs of states, least squares"
    normalize = "iterative"
    square = False
    any_pairs = True

    def solve(self, sums: Sums) -> Matrices:
        from fairseq_xling.mapping.sums import least_squares_of

        return Matrices(least_squares_of(sums.xx, sums.xy))
