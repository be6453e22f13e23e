"""The part of the model that lets words see each other. To add one, add a file here."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.registry import Registry


class Network(Protocol):
    """A module made with ``(inputs, layers, width, dropout)``.

    Attributes:
        needs_tree: whether its layers read ``heads``.
        outputs: width of its states; ``inputs`` without layers.
    """

    needs_tree: ClassVar[bool]
    outputs: int

    def __call__(self, x: Sequence[Tensor], heads: Tensor, sizes: Tensor) -> Tensor:
        """The states of the N words of R graphs, one graph after another.

        Args:
            x: their columns in parts, each (N, some of ``inputs``); frozen ones need no gradient.
            heads: (N,), the number of each word's head, or -1; sizes: (R,), words of each graph.

        Returns:
            (N, outputs).
        """


networks: Registry[Any] = Registry("network", __name__)


def dropped(x: Tensor, share: float, training: bool) -> Tensor:
    """Dropout. On a CPU by uniform numbers, since torch draws its masks four times slower there."""
    if not training or not share:
        return x
    if x.is_cuda:
        return F.dropout(x, share)
    return x * torch.rand_like(x).ge_(share).mul_(1 / (1 - share))
