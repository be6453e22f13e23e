"""Log-probabilities of a few tokens of a large vocabulary, without a tensor for all of them.

A loss that sums over alignments asks at each slot for the words of one translation only. Taking
them from ``log_softmax`` would keep several tensors of slots x vocabulary in single precision;
here the logits are read twice, some rows at a time, while they are in the processor's cache.

n slots, V vocabulary, L tokens asked for.
"""

from typing import Any

import torch
from torch import Tensor

_BYTES = 1 << 22  # of logits in single precision at a time


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """log softmax(``logits`` (n, V)) at ``labels`` (n, L): (n, L), in single precision.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    >>> label_log_probs(logits, torch.tensor([[2, 2]])).exp().tolist()
    [[0.25, 0.25]]
    """
    return _LabelLogProbs.apply(logits, labels)


class _LabelLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        total = torch.cat([part.float().logsumexp(1) for part in _parts(logits)])
        ctx.save_for_backward(logits, labels, total)
        return logits.gather(1, labels).float() - total[:, None]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        logits, labels, total = ctx.saved_tensors
        result = torch.empty_like(logits)
        parts = zip(*map(_like(logits), (logits, labels, total, grad, result)), strict=True)
        for part, chosen, norm, g, out in parts:
            whole = (part.float() - norm[:, None]).exp_().mul_(-g.sum(1, keepdim=True))
            out.copy_(whole.scatter_add_(1, chosen, g))
        return result, None


def _like(logits: Tensor) -> Any:
    rows = max(1, _BYTES // (4 * logits.shape[1])) if logits.device.type == "cpu" else len(logits)
    return lambda tensor: tensor.split(max(1, rows))


def _parts(logits: Tensor) -> tuple[Tensor, ...]:
    return _like(logits)(logits)
