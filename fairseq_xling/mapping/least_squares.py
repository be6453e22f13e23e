"""The unconstrained linear map: the one with the smallest error, without regard to lengths and
angles.

Huang, Ji and May 2019, "Cross-lingual Multi-Level Adversarial Transfer", Eq. 2.

Symbols: ``N`` examples, ``D`` width. Rows are examples; maps are applied from the right.
"""

import warnings

import torch
from torch import Tensor


def least_squares(x: Tensor, y: Tensor) -> Tensor:
    """``W = argmin ||x W - y||_F = x^+ y``; of several, the one with the smallest norm.

    Fewer examples than dimensions are fitted without error and say nothing about other vectors: a
    warning is given. Computed in double precision.

    Args:
        x: (N, D).
        y: (N, E), row i belongs to row i of ``x``.

    Returns:
        (D, E) in the type of ``x``.

    Raises:
        ValueError: if the numbers of rows differ, there is none, or a value is not finite.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> w = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
    >>> torch.allclose(least_squares(x, x @ w), w)
    True
    """
    if x.dim() != 2 or y.dim() != 2 or len(x) != len(y) or not len(x):
        raise ValueError(f"rows to match must pair up, got {tuple(x.shape)} and {tuple(y.shape)}")
    if not (torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise ValueError("vectors to match must be finite, got NaN or infinity")
    if len(x) < x.shape[1]:
        warnings.warn(
            f"{len(x)} pairs for {x.shape[1]} dimensions: the map fits them without error, and "
            "other vectors arbitrarily",
            stacklevel=2,
        )
    # gelsd, by singular values, also works if the rows do not span the space.
    driver = "gelsd" if x.device.type == "cpu" else None
    if driver is None:
        return (torch.linalg.pinv(x.double()) @ y.double()).to(x.dtype)
    return torch.linalg.lstsq(x.double(), y.double(), driver=driver).solution.to(x.dtype)
