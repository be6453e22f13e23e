"""The gradient reversal of Ganin and Lempitsky (2015), section 3.1."""

from typing import Any

import torch
from torch import Tensor


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: float) -> Tensor:
        ctx.weight = weight
        return states.view_as(states)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * -ctx.weight, None


def reverse(states: Tensor, weight: float) -> Tensor:
    """``states`` unchanged; backward, the gradient times ``-weight``.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (reverse(x, 0.5) * torch.tensor([3.0, 4.0])).sum().backward()
    >>> x.grad.tolist()
    [-1.5, -2.0]
    """
    return _Reversal.apply(states, weight)
