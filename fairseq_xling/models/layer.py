"""A post-norm Transformer layer with torch's fused attention (Vaswani et al., 2017; as in BERT).

Parameters: 12 d^2 + 13 d for a feed-forward width of 4 d, with d = ``dim``.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from fairseq_xling.core.registry import Registry
from fairseq_xling.models.dropout import dropout
from fairseq_xling.models.unpadded import Segments, attend_segments

activations: Registry = Registry("activation")

activations.register("gelu")(F.gelu)
activations.register("relu")(F.relu)


@activations.register("gelu_tanh")
def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its approximation with tanh."""
    return F.gelu(x, approximate="tanh")


# cuDNN's attention builds a plan for each new batch shape, forward and backward, which takes
# hundreds of milliseconds: an H100 trained on sentences at a tenth of its rate. These have none.
_ON_A_GPU = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class EncoderLayer(nn.Module):
    """x -> LN(x + Attention(x)) -> LN(x + FFN(x)), batch first.

    Query, key and value are one matrix product, and attention goes through `attend`.
    """

    def __init__(
        self,
        dim: int,
        ffn_dim: int,
        heads: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        norm_eps: float = 1e-5,
        activation: str = "gelu",
    ):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, norm_eps)
        self.fc1 = nn.Linear(dim, ffn_dim)
        self.fc2 = nn.Linear(ffn_dim, dim)
        self.ffn_norm = nn.LayerNorm(dim, norm_eps)
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self.activation = activations[activation]
        self.after: Callable[..., Tensor] | None = None  # `after_attention`, if it is compiled
        self.recomputes = False  # what its backward pass needs

    def forward(self, x: Tensor, attention_mask: Tensor | Segments | None = None) -> Tensor:
        """One layer.

        Args:
            x: (B, T, D) states.
            attention_mask: broadcastable to (B, heads, T, T), True where a query may attend to a
                key; ``None`` for everywhere. With segments, ``x`` is (N, D), without padding.

        Returns:
            (B, T, D) or (N, D) states.
        """
        if self.recomputes and torch.is_grad_enabled():
            return checkpoint(self._states, x, attention_mask, use_reentrant=False)
        return self._states(x, attention_mask)

    def _states(self, x: Tensor, attention_mask: Tensor | Segments | None) -> Tensor:
        rate = self.attention_dropout if self.training else 0.0
        qkv = self.qkv(x)
        if isinstance(attention_mask, Segments):
            mixed = attend_segments(qkv, self.heads, attention_mask, rate)
        else:
            mixed = self_attention(qkv, self.heads, attention_mask, rate)
        if self.after is not None and torch.is_grad_enabled():  # validation compiles nothing
            return self._compiled(x, mixed)
        x = self.attention_norm(x + self._drop(self.out(mixed)))
        return self.ffn_norm(x + self._drop(self.fc2(self.activation(self.fc1(x)))))

    def _compiled(self, x: Tensor, mixed: Tensor) -> Tensor:
        parts = self.out, self.attention_norm, self.fc1, self.fc2, self.ffn_norm
        weights = (part for module in parts for part in (module.weight, module.bias))
        rate, epsilon = self.dropout if self.training else 0.0, self.attention_norm.eps
        rows = x.reshape(-1, x.shape[-1]), mixed.reshape(-1, x.shape[-1])
        return self.after(*rows, *weights, epsilon, rate, self.activation).view(x.shape)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout, self.training)


def recompute_layers(model: nn.Module) -> None:
    """Have the layers of ``model`` keep only their inputs for the backward pass, and compute the
    rest of what it needs once more (Chen et al., 2016, "Training Deep Nets with Sublinear Memory
    Cost")."""
    for module in model.modules():
        if isinstance(module, EncoderLayer):
            module.recomputes = True


def after_attention(
    x: Tensor,
    mixed: Tensor,
    out: Tensor,
    out_bias: Tensor,
    norm: Tensor,
    norm_bias: Tensor,
    fc1: Tensor,
    fc1_bias: Tensor,
    fc2: Tensor,
    fc2_bias: Tensor,
    last_norm: Tensor,
    last_norm_bias: Tensor,
    epsilon: float,
    rate: float,
    activation: Callable[[Tensor], Tensor],
) -> Tensor:
    """What `EncoderLayer` computes of ``x`` (N, D) and what attention found, ``mixed`` (N, D), as a
    function of its weights; ``rate`` is that of dropout."""
    width = (x.shape[-1],)
    found = F.dropout(F.linear(mixed, out, out_bias), rate)
    x = F.layer_norm(x + found, width, norm, norm_bias, epsilon)
    found = F.linear(activation(F.linear(x, fc1, fc1_bias)), fc2, fc2_bias)
    return F.layer_norm(x + F.dropout(found, rate), width, last_norm, last_norm_bias, epsilon)


def self_attention(
    qkv: Tensor, heads: int, mask: Tensor | None, rate: float = 0.0, more: int = 0
) -> Tensor:
    """(B, T, 3 D), queries then keys then values, to (B, T, D); ``mask`` and ``rate`` as of
    `attend`. ``more`` keys are added that nobody attends to."""
    batch, length, width = qkv.shape
    parts = qkv.view(batch, length, 3, heads, width // (3 * heads)).unbind(2)
    query, *read = (part.transpose(1, 2) for part in parts)
    if more:
        read = [F.pad(part, (0, 0, 0, more)) for part in read]
        mask = qkv.new_ones(1, 1, 1, length, dtype=torch.bool) if mask is None else mask
        mask = F.pad(mask, (0, more))
    mixed = attend(query, *read, mask, rate)
    return mixed.transpose(1, 2).reshape(batch, length, width // 3)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, rate: float) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(d))) V for (B, heads, T, d) each; ``mask`` as in `EncoderLayer`.

    On a CPU torch's fused kernel has no dropout and falls back to slower steps than these, and in
    bfloat16 its backward pass is 2 to 5 times slower up to some 256 tokens.
    """
    if query.device.type == "cuda":
        with sdpa_kernel(_ON_A_GPU):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
    slow = query.requires_grad and query.dtype == torch.bfloat16 and query.shape[2] <= 256
    if query.device.type != "cpu" or not (rate or slow):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    if mask is not None:
        scores = scores + additive(mask, scores.dtype)
    return dropout(scores.softmax(-1), rate) @ value


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to scores: 0 where ``mask`` is True, where it is False the lowest number.

    Not -inf, which in a row of padding alone would turn into NaN.
    """
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, torch.finfo(dtype).min)


def scaled_products(queries: Tensor, keys: Tensor) -> Tensor:
    """q_i k_j / sqrt(d), (B, N, M) float32, of (B, N, d) and (B, M, d)."""
    # Scaled before the product, and float32 after it: half precision ends at 65,504.
    return (queries * queries.shape[-1] ** -0.5 @ keys.transpose(1, 2)).float()


def attention_mask(padding_mask: Tensor | None, group: Tensor | None = None) -> Tensor | None:
    """Who may attend to whom, for `EncoderLayer`.

    Args:
        padding_mask: (B, T), True at padding, or ``None`` where nothing is padded.
        group: (B, T) integers, or ``None``; a token attends only to tokens of its own group.

    Returns:
        (B, 1, 1 or T, T), True where a query may attend to a key, or ``None`` for everywhere.
    """
    mask = None if padding_mask is None else ~padding_mask[:, None, None, :]
    if group is None:
        return mask
    same = (group[:, :, None] == group[:, None, :])[:, None]
    # Padding still attends to itself: a row with only False would turn into NaN.
    if mask is None:
        return same
    return (same & mask) | torch.eye(group.shape[1], dtype=torch.bool, device=group.device)
