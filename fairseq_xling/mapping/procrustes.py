"""The orthogonal Procrustes problem (Schoenemann 1966), which has a closed-form solution.

Used by Conneau et al. 2018, "Word Translation Without Parallel Data", Eq. 2, and Conneau et al.
2020, "Emerging Cross-lingual Structure", section 5.1.

Symbols: ``N`` examples, ``D`` width. **Rows are examples everywhere in this package**, so a map is
applied from the right: ``mapped = x @ W``. The papers use columns, ``W' x``, and their W'
is the transpose of ours.
"""

import torch
from torch import Tensor


def procrustes(x: Tensor, y: Tensor) -> Tensor:
    """The orthogonal W that brings ``x`` closest to ``y``.

    ``W = argmin_{W^T W = I} ||x W - y||_F = U V^T``, where ``U S V^T`` is the singular value
    decomposition of ``x^T y``. Reflections are allowed. Computed in double precision.

    Args:
        x: (N, D).
        y: (N, D), row i belongs to row i of ``x``.

    Returns:
        (D, D) in the type of ``x``.

    Raises:
        ValueError: if shapes differ, there is no row, or a value is not finite.

    >>> quarter_turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    >>> torch.allclose(procrustes(x, x @ quarter_turn), quarter_turn, atol=1e-6)
    True
    """
    if x.shape != y.shape or x.dim() != 2 or not len(x):
        raise ValueError(f"rows to match must pair up, got {tuple(x.shape)} and {tuple(y.shape)}")
    product = x.double().T @ y.double()
    if not torch.isfinite(product).all():
        raise ValueError("vectors to match must be finite, got NaN or infinity")
    return nearest_orthogonal(product).to(x.dtype)


def nearest_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal W with the smallest ``||W - a||_F``: ``U V^T`` of ``a = U S V^T`` (D, D).

    >>> nearest_orthogonal(torch.tensor([[3.0, 0.0], [0.0, -0.1]])).tolist()
    [[1.0, 0.0], [0.0, -1.0]]
    """
    u, _, vh = torch.linalg.svd(a.double())
    return (u @ vh).to(a.dtype)


def orthogonality_error(w: Tensor) -> float:
    """Largest entry of ``|W^T W - I|``: 0 for a rotation.

    >>> orthogonality_error(torch.eye(2)), orthogonality_error(2 * torch.eye(2))
    (0.0, 3.0)
    """
    w = w.double()
    return float((w.T @ w - torch.eye(len(w), dtype=w.dtype, device=w.device)).abs().max())
