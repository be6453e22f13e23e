"""Linear maps from pairs of states: with or without the constraint, of one side or of both.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1 (`procrustes`, `contextual`);
Huang, Ji and May 2019, "Cross-lingual Multi-Level Adversarial Transfer", Eq. 2 (`unconstrained`);
Doval et al. 2018, "Improving Cross-Lingual Word Embeddings by Meeting in the Middle"; MIM of TreLM,
Table 9 (`meeting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairseq_xling.mapping.paired import PAIRED, Matrices

if TYPE_CHECKING:
    from fairseq_xling.mapping.sums import Sums


@PAIRED.register("procrustes")
class Procrustes:
    """``argmin_{W^T W = I} ||x W - y||``: a rotation or reflection, which preserves lengths and
    angles."""

    help = "the orthogonal map with the smallest error on pairs of states"
    normalize = "iterative"
    square = True
    any_pairs = True

    def solve(self, sums: Sums) -> Matrices:
        from fairseq_xling.mapping.procrustes import nearest_orthogonal

        return Matrices(nearest_orthogonal(sums.xy))


@PAIRED.register("contextual")
class Contextual(Procrustes):
    """Procrustes on aligned tokens (section 5.1.2): the target language's states of a layer are
    mapped into the source encoder's space, and its upper layers read them
    (`fairseq_xling.tasks.mapped`).

    By default the states are only centred: those layers need lengths, and with the iterative
    normalisation of that section, which the option takes too, the lengths that a state gets back
    are those of its own encoder (`FittedMap.carry`).
    """

    help = "the orthogonal map of tokens in context, which another encoder's layers can read"
    normalize = "centre"
    any_pairs = False


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


@PAIRED.register("meeting")
class MeetingInTheMiddle:
    """``W (x W)^+ a`` and ``y^+ a`` with ``a = (x W + y) / 2`` and W orthogonal."""

    help = "maps of both sides to the average of the pairs, after a rotation"
    normalize = "iterative"
    square = True
    any_pairs = True

    def solve(self, sums: Sums) -> Matrices:
        from fairseq_xling.mapping.procrustes import nearest_orthogonal
        from fairseq_xling.mapping.sums import least_squares_of

        w = nearest_orthogonal(sums.xy)
        rotated, across = w.T @ sums.xx @ w, w.T @ sums.xy
        return Matrices(
            w @ least_squares_of(rotated, (rotated + across) / 2),
            least_squares_of(sums.yy, (sums.yy + across.T) / 2),
        )
