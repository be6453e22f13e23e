"""A different learning rate for a part of a model.

fairseq gives all parameters one learning rate. A part that should learn ``r`` times as fast is
stored as ``w / r`` and used as ``r * (w / r)``, and what is stored gets the gradient of ``w``, not
``r`` times as much: for any optimiser, its step ``lr * u`` on ``w / r`` is the step ``r * lr * u``
on ``w``. So the gradient norm, and with it `--clip-norm`, is the same as with one learning rate.
Weight decay is a share of what is stored: its rate stays that of `--lr`.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from fairseq_xling.core.errors import UserError


class _Stretched(torch.autograd.Function):
    """``factor * stored``, whose gradient is passed to ``stored`` unscaled."""

    @staticmethod
    def forward(ctx: Any, stored: Tensor, factor: float) -> Tensor:
        return stored * factor

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Times(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, stored: Tensor) -> Tensor:
        return _Stretched.apply(stored, self.factor)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value / self.factor


def train_faster(module: nn.Module, factor: float) -> None:
    """Let the optimiser train ``module``'s parameters at ``factor`` times the learning rate.

    Raises:
        UserError: unless the factor is above 0.
    """
    if not factor > 0:
        raise UserError(f"`--head-lr` and `--lr` must be above 0, got a ratio of {factor:g}")
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            if parameter.requires_grad:
                parametrize.register_parametrization(part, name, _Times(factor))
