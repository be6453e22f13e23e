"""The part of the model that lets words see each other, found by name: `networks`.

``gcn`` is graph convolution over an undirected dependency tree (the transfer note, section 3):

    h_i^l = relu((1 / d_i) sum_{j in N(i)} W^l h_j^{l-1} + b^l)

N(i) is i with its head and dependents, d_i = |N(i)|. No weight depends on the language or on the
order of words. In matrices: relu(D^-1 (A + I) H W + b), of which the product with the sparse A + I
is a weighted sum of rows for each word, with the same order of summands in every run.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.papers.transfer.structures.batch import Neighbours, neighbours


class Network(Protocol):
    """A module made with ``(inputs, layers, width, dropout)``."""

    needs_tree: ClassVar[bool]  # whether its layers read heads
    outputs: int  # width of its states; that of the inputs without layers

    def __call__(self, x: Sequence[Tensor], heads: Tensor, sizes: Tensor) -> Tensor:
        """The states (N, outputs) of the N words of R graphs, one graph after another.

        Args:
            x: their columns in parts, each (N, some of ``inputs``); frozen ones need no gradient.
            heads: (N,), the number of each word's head, or -1; sizes: (R,), words of each graph.
        """


networks: Registry[Any] = Registry("network")


def dropped(x: Tensor, share: float, training: bool) -> Tensor:
    """Dropout. On a CPU by uniform numbers, since torch draws its masks four times slower there."""
    if not training or not share:
        return x
    if x.is_cuda:
        return F.dropout(x, share)
    return x * torch.rand_like(x).ge_(share).mul_(1 / (1 - share))


@networks.register("gcn")
class Gcn(nn.Module):
    """See the module's docstring; ``layers`` may be 0: the states are then the inputs."""

    needs_tree = True

    def __init__(self, inputs: int, layers: int, width: int, dropout: float):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(width if layer else inputs, width) for layer in range(layers)
        )
        self.outputs = width if layers else inputs
        self.dropout = dropout

    def forward(self, x: Sequence[Tensor], heads: Tensor, sizes: Tensor) -> Tensor:
        if not self.layers:
            return torch.cat(list(x), -1)
        near = neighbours(heads, x[0].dtype)
        parts = x
        for number, layer in enumerate(self.layers):
            if number:
                parts = [dropped(parts[0], self.dropout, self.training)]
            # The mean of W h + b is the mean of W h, plus b.
            parts = [torch.relu(_Mean.apply(_Linear.apply(layer.weight, layer.bias, *parts), near))]
        return parts[0]


class _Linear(torch.autograd.Function):
    """W x + b of columns that come in parts; no gradient is computed of those that are frozen."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, *parts: Tensor) -> Tensor:
        x = torch.cat(parts, -1) if len(parts) > 1 else parts[0]
        ctx.save_for_backward(weight, x)
        ctx.widths = [one.shape[1] for one in parts]
        return F.linear(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weight, x = ctx.saved_tensors
        pieces = zip(weight.split(ctx.widths, 1), ctx.needs_input_grad[2:], strict=True)
        of_parts = (gradient @ piece if needed else None for piece, needed in pieces)
        return gradient.T @ x, gradient.sum(0), *of_parts


class _Mean(torch.autograd.Function):
    """D^-1 (A + I) x, and for gradients (A + I) D^-1: the matrix A + I is symmetric."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, near: Neighbours) -> Tensor:
        ctx.near = near
        return _sums(x, near, near.shares)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _sums(gradient.contiguous(), ctx.near, ctx.near.own_shares), None


def _sums(x: Tensor, near: Neighbours, weights: Tensor) -> Tensor:
    return F.embedding_bag(near.words, x, near.starts, mode="sum", per_sample_weights=weights)


@networks.register("lstm")
class Lstm(nn.Module):
    """``layers`` of them, ``width`` units in both directions together; reads no tree."""

    needs_tree = False

    def __init__(self, inputs: int, layers: int, width: int, dropout: float):
        super().__init__()
        if width % 2:
            raise UserError(f"`--width` must be even for the network lstm, got {width}")
        self.outputs = width if layers else inputs
        self.inner = (
            nn.LSTM(
                inputs,
                width // 2,
                layers,
                batch_first=True,
                bidirectional=True,
                dropout=dropout if layers > 1 else 0.0,
            )
            if layers
            else None
        )

    def forward(self, x: Sequence[Tensor], heads: Tensor, sizes: Tensor) -> Tensor:
        words = torch.cat(list(x), -1)
        if self.inner is None:
            return words
        mask = torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None]
        padded = words.new_zeros(*mask.shape, words.shape[1])
        padded[mask] = words
        packed = pack_padded_sequence(padded, sizes.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.inner(packed)[0], True, total_length=mask.shape[1])
        return states[mask]
