"""`--compile`: what follows attention in a layer, the output layer and the loss by `torch.compile`.

Each is a function of its weights, so that all layers share one graph; the number of rows is a
variable of that graph, so that no other batch compiles it again. Attention and products are not
compiled: their kernels are a library's anyway.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.engine import compat
from fairseq_xling.models.heads import BertHead
from fairseq_xling.models.layer import EncoderLayer, after_attention


def compile_encoder(encoder: nn.Module, backend: Any = None) -> None:
    """Have the layers and the output layers of ``encoder`` compiled when they are first called.

    ``backend`` is that of `torch.compile`, by default torch's own.
    """
    after = over_rows(after_attention, 2, backend)
    transform = over_rows(BertHead.transform, 1, backend)
    for module in encoder.modules():
        if type(module) is EncoderLayer:
            module.after = after
        elif isinstance(module, BertHead):
            module.transform = transform


def over_rows(
    function: Callable[..., Tensor], count: int, backend: Any = None
) -> Callable[..., Tensor]:
    """``function`` compiled for any number of rows of its first ``count`` arguments, tensors."""
    compiled = torch.compile(function, backend=backend or compat.COMPILER, fullgraph=True)

    def call(*arguments: Any) -> Tensor:
        for tensor in arguments[:count]:
            torch._dynamo.maybe_mark_dynamic(tensor, 0)
        return compiled(*arguments)

    return call
