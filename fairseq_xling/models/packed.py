"""Products by oneDNN with weights in its own layout, for models that only read on a CPU.

torch leaves products in fp32 to another library, which uses no AVX512 on AMD's processors; oneDNN
takes half of its time there, and no more elsewhere.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fairseq_xling.engine.compat import packs_weights
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.reading import FUSED, ReadingLayer, prepared, substitute


def pack(model: nn.Module) -> None:
    """Give ``model`` such products, where torch has them for its numbers; others stay."""
    dtypes = {module.weight.dtype for module in model.modules() if isinstance(module, nn.Linear)}
    if all(packs_weights(dtype) for dtype in dtypes):
        substitute(model, _layer, PackedLinear)


class PackedLinear(nn.Module):
    """activation(x W^T + b) with W (O, I) and b (O,)."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        activation: Callable[[Tensor], Tensor] | None = None,
    ):
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight)
        self.bias = bias
        self.fused = FUSED.get(activation, ("none", ""))
        self.activation = None if activation in FUSED else activation

    def __deepcopy__(self, memo: dict[int, object]) -> "PackedLinear":
        # torch cannot copy such weights; nothing changes them, so that copies may share them.
        return self

    @torch.no_grad()
    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        """(..., I) to (..., O); ``residual`` (..., O) is added, where there is no activation."""
        if residual is not None:
            product = torch.ops.mkldnn._linear_pointwise
            return product.binary(x, residual, self.weight, self.bias, "add")
        name, algorithm = self.fused
        y = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, name, [], algorithm)
        return y if self.activation is None else self.activation(y)


def _layer(layer: EncoderLayer) -> ReadingLayer:
    qkv, out, fc2 = (prepared(x, PackedLinear) for x in (layer.qkv, layer.out, layer.fc2))
    fc1 = PackedLinear(layer.fc1.weight.data, layer.fc1.bias.data, layer.activation)
    return ReadingLayer(layer, qkv, out, fc1, fc2)
