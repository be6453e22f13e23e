"""The orthogonal map: a rotation or reflection, which preserves lengths and angles.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairseq_xling.mapping.paired import PAIRED, Matrices

if TYPE_CHECKING:
    from fairseq_xling.mapping.sums import Sums


@PAIRED.register("procrustes")
class Procrustes:
    """``argmin_{W^T W = I} ||x W - y||``."""

    help = "the orthogonal map with the smallest error on pairs of states"
    normalize = "iterative"
    square = True
    any_pairs = True

    def solve(self, sums: Sums) -> Matrices:
        from fairseq_xling.mapping.sums import procrustes_of

        return Matrices(procrustes_of(sums))
