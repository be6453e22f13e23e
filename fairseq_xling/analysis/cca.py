"""SVCCA and PWCCA: similarities of two representations from their canonical correlations.

CKA's predecessors, which Conneau et al. (2020, "Emerging Cross-lingual Structure in Pretrained
Language Models", section 5.2) name next to it. The canonical correlations ``rho`` of X and Y are
the singular values of ``Qx^T Qy``; ``Qx`` and ``Qy`` are orthonormal bases of the centred columns.

    SVCCA (Raghu et al., 2017): the mean of ``rho`` after each side is reduced to the principal
        directions that hold 99 % of its variance.
    PWCCA (Morcos et al., 2018): ``sum_i a_i rho_i / sum_i a_i`` with
        ``a_i = sum_j |<h_i, x_j>|``, where ``h_i`` is the i-th canonical variate of X and ``x_j`` a
        centred column of X.

Unlike CKA they do not change under any invertible linear map (SVCCA: if no direction is left out),
and they are close to 1 for all representations of few examples. Symbols as in `analysis.cka`.
"""

import torch
from torch import Tensor

from fairseq_xling.analysis.cka import Sums
from fairseq_xling.core.errors import UserError

VARIANCE = 0.99
_RANK = 1e-10  # of the largest eigenvalue: what is below is rounding


def svcca(sums: Sums, variance: float = VARIANCE) -> float:
    """The mean canonical correlation of the principal directions, in [0, 1].

    Args:
        variance: the share that each side keeps, in (0, 1]; 1 is plain CCA.

    >>> from fairseq_xling.analysis.cka import CKA
    >>> x, both = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [5.0, 2.0]]), CKA()
    >>> both.update(x, x @ torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    >>> round(svcca(both.sums(), 1.0), 6)
    1.0
    """
    if not 0 < variance <= 1:
        raise UserError(f"`variance` must lie in (0, 1], got {variance}")
    rho, _ = _correlations(sums, variance)
    return float(rho.mean())


def pwcca(sums: Sums) -> float:
    """The mean of the canonical correlations, weighted by how much of X each accounts for, in
    [0, 1]; not the same with X and Y exchanged."""
    rho, directions = _correlations(sums, 1.0)
    weights = (directions.T @ sums.xx).abs().sum(1)  # <h_i, x_j> summed over j
    return float((weights * rho).sum() / weights.sum())


def _correlations(sums: Sums, variance: float) -> tuple[Tensor, Tensor]:
    """The canonical correlations (C,), largest first, and the directions in X (D, C) of their
    variates, which have length 1."""
    first, second = _whitening(sums.xx, variance), _whitening(sums.yy, variance)
    u, rho, _ = torch.linalg.svd(first.T @ sums.xy @ second, full_matrices=False)
    return rho.clamp(max=1.0), first @ u


def _whitening(products: Tensor, variance: float) -> Tensor:
    """(D, K): the K principal directions that hold ``variance``, each scaled to variates of length
    1, given ``Xc^T Xc`` (D, D)."""
    values, vectors = torch.linalg.eigh(products)
    values, vectors = values.flip(0), vectors.flip(1)
    values = values.clamp(min=0)
    before = torch.cat([values.new_zeros(1), values.cumsum(0)[:-1]]) / values.sum()
    kept = (before < variance - 1e-12) & (values > _RANK * values[0])
    return vectors[:, kept] / values[kept].sqrt()
