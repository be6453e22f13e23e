"""Encoders that only read or translate, on a CPU: layers whose products are another library's.

What follows a product, an activation or the sum with the state before it, may be computed where the
product is written, which saves a pass over the memory. Nothing here has a gradient.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.models.activations import activations
from fairseq_xling.models.heads import LinearHead
from fairseq_xling.models.layer import EncoderLayer, self_attention

# What oneDNN calls an activation: its name, and how it is computed.
FUSED: dict[object, tuple[str, str]] = {
    activations["gelu"]: ("gelu", "none"),
    activations["gelu_tanh"]: ("gelu", "tanh"),
    activations["relu"]: ("relu", ""),
}

# (V, D) embeddings and (V,) biases to a product with them
Prepare = Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]]


class ReadingLayer(nn.Module):
    """What an `EncoderLayer` computes without dropout.

    Args:
        layer: whose norms it has.
        qkv, out, fc1, fc2: the products of that layer, of states (n, ...). ``fc1`` applies the
            activation, ``out`` and ``fc2`` add their second argument.
    """

    def __init__(
        self,
        layer: EncoderLayer,
        qkv: nn.Module,
        out: nn.Module,
        fc1: nn.Module,
        fc2: nn.Module,
    ):
        super().__init__()
        self.heads = layer.heads
        self.qkv, self.out, self.fc1, self.fc2 = qkv, out, fc1, fc2
        self.attention_norm, self.ffn_norm = layer.attention_norm, layer.ffn_norm

    @torch.no_grad()
    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """As of `EncoderLayer`."""
        batch, length, dim = x.shape
        x = x.reshape(-1, dim)
        qkv = self.qkv(x).view(batch, length, 3 * dim)
        mixed = self_attention(qkv, self.heads, attention_mask).view(-1, dim)
        x = self.attention_norm(self.out(mixed, x))
        return self.ffn_norm(self.fc2(self.fc1(x), x)).view(batch, length, dim)


class Projection:
    """`torch.nn.functional.linear` by other products, each prepared the first time.

    Several languages may share a head, and have their own embeddings.
    """

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        # By the weight's identity; the weight stays alive.
        self._prepared: dict[int, tuple[Tensor, Callable[[Tensor], Tensor]]] = {}

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        known, product = self._prepared.get(id(weight), (None, None))
        if known is not weight:  # a copy of this object has the places of other weights
            product = self._prepare(weight.data, bias.data)
            self._prepared[id(weight)] = weight, product
        return product(x)


def substitute(
    model: nn.Module,
    layer: Callable[[EncoderLayer], nn.Module],
    linear: Callable[[nn.Linear], nn.Module],
    prepare: Prepare,
) -> None:
    """Replace the layers of ``model``, its other linear layers, and the products of its heads with
    embeddings; what was replaced before stays."""
    for module in list(model.modules()):
        if isinstance(module, LinearHead) and module.project is F.linear:
            module.project = Projection(prepare)
        for name, child in list(module.named_children()):
            if type(child) is EncoderLayer:
                setattr(module, name, layer(child))
            elif type(child) is nn.Linear and type(module) is not EncoderLayer:
                setattr(module, name, linear(child))
