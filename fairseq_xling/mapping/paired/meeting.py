"""Meeting in the middle: linear maps bring both sides to the means of the pairs.

Doval et al. 2018, "Improving Cross-Lingual Word Embeddings by Meeting in the Middle"; MIM of TreLM,
Table 9. See `fairseq_xling.mapping.meeting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairseq_xling.mapping.paired import PAIRED, Matrices

if TYPE_CHECKING:
    from fairseq_xling.mapping.sums import Sums


@PAIRED.register("meeting")
class MeetingInTheMiddle:
    """``W (x W)^+ a`` and ``y^+ a`` with ``a = (x W + y) / 2`` and W orthogonal."""

    help = "maps of both sides to the average of the pairs, after a rotation"
    normalize = "iterative"
    square = True
    any_pairs = True

    def solve(self, sums: Sums) -> Matrices:
        from fairseq_xling.mapping.sums import least_squares_of, procrustes_of

        w = procrustes_of(sums)
        rotated, across = w.T @ sums.xx @ w, w.T @ sums.xy
        return Matrices(
            w @ least_squares_of(rotated, (rotated + across) / 2),
            least_squares_of(sums.yy, (sums.yy + across.T) / 2),
        )
