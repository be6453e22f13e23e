"""Encoders that only read or translate, on a CPU: layers whose products are another library's.

What follows a product, an activation or the sum with the state before it, may be computed where the
product is written, which saves a pass over the memory. Only attention reads padding, if there is
much of it. Nothing here has a gradient.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fairseq_xling.models.heads import LinearHead, project
from fairseq_xling.models.layer import EncoderLayer, activations, additive, self_attention

# What oneDNN calls an activation: its name, and how it is computed.
FUSED: dict[object, tuple[str, str]] = {
    activations["gelu"]: ("gelu", "none"),
    activations["gelu_tanh"]: ("gelu", "tanh"),
    activations["relu"]: ("relu", ""),
}

_LONGEST, _FEWEST = 192, 256  # of `_attention`: tokens of a sentence, of a batch
_DENSE = 0.9  # share of states that are no padding from which on the rest is read, too
_ALIKE = 32  # sentences of like length whose attention is computed together
# Numbers of a vector. torch takes the exponentials of a row's last numbers one by one.
_VECTOR = 16

# a weight (O, I) and a bias (O,), or None, to the product with them
Prepare = Callable[[Tensor, Tensor | None], nn.Module]


class ReadingLayer(nn.Module):
    """What an `EncoderLayer` computes without dropout.

    Args:
        layer: whose norms it has.
        qkv, out, fc1, fc2: the products of that layer, of states (n, ...). ``fc1`` applies the
            activation, ``out`` and ``fc2`` add their second argument, the residual.
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
        """As of `EncoderLayer`; where there is much padding, its states are zero."""
        batch, length, dim = x.shape
        real = _real(attention_mask, batch, length)
        if real is None:
            qkv = self.qkv(x.reshape(-1, dim)).view(batch, length, 3 * dim)
            mixed = _attention(qkv, self.heads, attention_mask)
            return self._after(mixed.view(-1, dim), x.reshape(-1, dim)).view(x.shape)
        kept = x.reshape(-1, dim).index_select(0, real)
        sizes = attention_mask.flatten(1).sum(1)
        found = self._after(_attention_of_sizes(self.qkv(kept), self.heads, sizes), kept)
        return x.new_zeros(batch * length, dim).index_copy_(0, real, found).view(x.shape)

    def _after(self, mixed: Tensor, x: Tensor) -> Tensor:
        """(n, D) each: what attention found, and the states that it read."""
        x = self.attention_norm(self.out(mixed, x))
        return self.ffn_norm(self.fc2(self.fc1(x), x))


class Projection:
    """The products of an output layer by other products, each prepared the first time.

    It takes the place of `torch.nn.functional.linear` or of `models.heads.listed`. Several
    languages may share an output layer, and have their own embeddings.
    """

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        # By the weight's identity; the weight stays alive.
        self._prepared: dict[int, tuple[Tensor, nn.Module]] = {}

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor, *more: Tensor) -> Tensor:
        if id(weight) not in self._prepared:
            self._prepared[id(weight)] = weight, self._prepare(weight.data, bias.data)
        return self._prepared[id(weight)][1](x, *more)

    def __deepcopy__(self, memo: dict[int, object]) -> "Projection":
        return Projection(self._prepare)  # a copy has other weights


def prepared(linear: nn.Linear, prepare: Prepare) -> nn.Module:
    """The product that takes the place of a linear layer."""
    return prepare(linear.weight.data, None if linear.bias is None else linear.bias.data)


def substitute(
    model: nn.Module, layer: Callable[[EncoderLayer], nn.Module], prepare: Prepare
) -> None:
    """Replace the layers of ``model``, its other linear layers, and the products of its heads with
    embeddings; what was replaced before stays."""
    made: dict[nn.Module, nn.Module] = {}  # one module may have several places
    for module in list(model.modules()):
        if isinstance(module, LinearHead) and module.project is project:
            module.project = Projection(prepare)
        for name, child in list(module._modules.items()):
            if type(child) is EncoderLayer and child not in made:
                made[child] = layer(child)
            elif type(child) is nn.Linear and type(module) is not EncoderLayer:
                made.setdefault(child, prepared(child, prepare))
            if child in made:
                setattr(module, name, made[child])


def _real(mask: Tensor | None, batch: int, length: int) -> Tensor | None:
    """Places of the states that are no padding; None where it is not worth it to leave others out.

    Args:
        mask: of attention; who attends to whom within a sentence says nothing of padding.
    """
    count = batch * length
    if mask is None or mask.shape != (batch, 1, 1, length) or count < _FEWEST:
        return None
    places = mask.flatten().nonzero()[:, 0]
    return places if len(places) < _DENSE * count else None


def _attention_of_sizes(qkv: Tensor, heads: int, sizes: Tensor) -> Tensor:
    """(n, 3 D), sentences one after the other, to (n, D): rows of like length together.

    Args:
        sizes: (B,) states of each sentence.
    """
    starts, order = sizes.cumsum(0) - sizes, sizes.argsort()
    mixed = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
    for rows in order.split(_ALIKE):
        places = torch.arange(int(sizes[rows[-1]]))
        if not len(places):  # sentences of padding alone
            continue
        inside = places < sizes[rows, None]
        index = (starts[rows, None] + places).clamp_(max=len(qkv) - 1).flatten()
        part = qkv.index_select(0, index).view(*inside.shape, -1)
        found = _attention(part, heads, inside[:, None, None]).view(len(index), -1)
        kept = inside.flatten().nonzero()[:, 0]
        mixed.index_copy_(0, index[kept], found.index_select(0, kept))
    return mixed


def _attention(qkv: Tensor, heads: int, mask: Tensor | None) -> Tensor:
    """`self_attention` of many short sentences: in bfloat16 by its steps one after the other, which
    are faster than torch's fused kernel while the memory that they free is kept; in float32 with
    keys that nobody attends to, up to whole vectors, where that is faster."""
    batch, length, width = qkv.shape
    if length > _LONGEST or batch * length < _FEWEST:
        return self_attention(qkv, heads, mask)
    if qkv.dtype != torch.bfloat16:
        left = length % _VECTOR
        more = _VECTOR - left if left > _VECTOR // 2 else 0
        return self_attention(qkv, heads, mask, more=more)
    parts = qkv.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
    query, key, value = parts.reshape(3, batch * heads, length, -1)
    added = qkv.new_zeros(1, 1, 1)
    if mask is not None:
        added = additive(mask, qkv.dtype).expand(batch, heads, -1, -1).flatten(0, 1)
    scores = torch.baddbmm(added, query, key.transpose(1, 2), alpha=query.shape[-1] ** -0.5)
    # In bfloat16 the softmax of lengths that are no multiple of 32 is 2 to 3 times slower.
    weights = scores.softmax(-1, dtype=torch.float32).to(qkv.dtype)
    mixed = torch.bmm(weights, value).view(batch, heads, length, -1)
    return mixed.transpose(1, 2).reshape(batch, length, width // 3)
