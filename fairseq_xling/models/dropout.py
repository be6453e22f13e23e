"""Dropout that is also cheap on a CPU.

There torch draws a Bernoulli number for every element, which costs as much as a
large matrix product. Here four elements share one 64-bit draw, 16 bits each, so a rate is exact to
1 / 65536. Accelerators keep torch's own kernel.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_LEVELS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Like ``F.dropout``: elements of ``x`` are 0 with probability ``rate``, else over 1 - rate.

    Draws from torch's default generator, so `torch.manual_seed` decides the outcome.
    """
    if not (training and 0 < rate < 1 and x.device.type == "cpu"):
        return F.dropout(x, rate, training)
    return _Dropout.apply(x, rate)


def keep_mask(count: int, rate: float) -> Tensor:
    """(count,) int16 on the CPU: 0 with probability ``rate``, else 1."""
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    return draws.view(torch.int16)[:count].ge_(round(rate * _LEVELS) - _LEVELS // 2)


class SharedDropout(nn.Module):
    """Dropout of the same entries in all words of a sentence: of (B, N, D), one mask (B, 1, D)."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        return x * F.dropout(torch.ones_like(x[:, :1]), self.rate)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, rate: float) -> Tensor:
        keep, ctx.scale = keep_mask(x.numel(), rate).view(x.shape), 1 / (1 - rate)
        ctx.save_for_backward(keep)
        return _scaled(x, keep, ctx.scale)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        return _scaled(grad, *ctx.saved_tensors, ctx.scale), None


def _scaled(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    # In the type of x: arithmetic between different types is several times slower.
    return keep.to(x.dtype).mul_(x).mul_(scale)
