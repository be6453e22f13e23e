import math

import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.models.layer import (
    EncoderLayer,
    attention_mask,
    recompute_layers,
    scaled_products,
)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    layer = EncoderLayer(dim=12, ffn_dim=20, heads=3).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # biases and norms too
    return layer


def slow_layer(layer, x, allowed):
    """One query, key and head at a time; ``allowed`` (B, T, T), True where a query may look."""
    batch, length, dim = x.shape
    size = dim // layer.heads
    weights = layer.qkv.weight.view(3, layer.heads, size, dim)
    biases = layer.qkv.bias.view(3, layer.heads, size)
    out = torch.zeros_like(x)
    for b in range(batch):
        mixed = torch.zeros(length, dim)
        for h in range(layer.heads):
            q, k, v = (x[b] @ weights[n, h].T + biases[n, h] for n in range(3))
            for i in range(length):
                scores = torch.tensor(
                    [
                        float(q[i] @ k[j]) / math.sqrt(size) if allowed[b, i, j] else -math.inf
                        for j in range(length)
                    ]
                )
                chances = scores.exp() / scores.exp().sum()
                mixed[i, h * size : (h + 1) * size] = chances @ v
        y = F.layer_norm(
            x[b] + mixed @ layer.out.weight.T + layer.out.bias,
            (dim,),
            layer.attention_norm.weight,
            layer.attention_norm.bias,
        )
        inner = y @ layer.fc1.weight.T + layer.fc1.bias
        inner = 0.5 * inner * (1 + torch.erf(inner / math.sqrt(2)))  # GELU, exact
        y = y + inner @ layer.fc2.weight.T + layer.fc2.bias
        out[b] = F.layer_norm(y, (dim,), layer.ffn_norm.weight, layer.ffn_norm.bias)
    return out


PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
GROUPS = torch.tensor([[0, 1, 1, 0, 2], [3, 3, 0, 0, 0]])


@pytest.mark.parametrize("padding", [None, PADDING])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_a_layer_is_post_norm_attention_and_gelu(layer, padding, groups):
    x = torch.randn(2, 5, 12)
    allowed = torch.ones(2, 5, 5, dtype=torch.bool)
    if groups is not None:
        allowed &= groups[:, :, None] == groups[:, None, :]
    real = torch.ones(2, 5, dtype=torch.bool) if padding is None else ~padding
    allowed &= real[:, None, :]
    allowed |= torch.eye(5, dtype=torch.bool) & ~real[:, :, None]  # padding: itself, if nothing
    with torch.no_grad():
        found = layer(x, attention_mask(padding, groups))
        expected = slow_layer(layer, x, allowed)
    assert found[real].numpy() == pytest.approx(expected[real].numpy(), abs=1e-5)


def test_a_batch_without_padding_and_groups_needs_no_mask():
    assert attention_mask(None) is None and attention_mask(None, None) is None


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_of_nothing_but_padding_is_never_not_a_number(layer, groups, dropout, dtype):
    padding = torch.tensor([[False] * 5, [True] * 5])
    layer.train().attention_dropout = dropout
    x = torch.randn(2, 5, 12, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = layer(x, attention_mask(padding, groups))
    found[0].float().square().sum().backward()
    gradients = [x.grad, *(parameter.grad for parameter in layer.parameters())]
    assert found.isfinite().all() and all(one.isfinite().all() for one in gradients)


def step(layer, x, dtype):
    """Output, gradients, and how many tensors the backward pass was kept."""
    kept = set()

    def keep(tensor):
        kept.add(tensor.data_ptr())
        return tensor

    x = x.clone().requires_grad_()
    layer.zero_grad()
    torch.manual_seed(4)  # of dropout
    with (
        torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        y = layer(x, attention_mask(PADDING))
    y.float().square().sum().backward()
    return [y, x.grad, *(parameter.grad for parameter in layer.parameters())], len(kept)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_that_is_computed_again_has_the_same_gradients(layer, dtype):
    layer.train()
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(3))
    expected, many = step(layer, x, dtype)
    recompute_layers(layer)
    found, few = step(layer, x, dtype)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)
    assert few < many / 2


def test_dropout_acts_in_training_only(layer):
    x = torch.randn(2, 5, 12)
    assert torch.equal(layer(x), layer(x))
    layer.train()
    torch.manual_seed(1)
    first = layer(x)
    assert not torch.equal(first, layer(x))
    torch.manual_seed(1)
    assert torch.equal(first, layer(x))


def test_products_of_half_precision_are_scaled_before_they_are_summed():
    queries = torch.full((1, 1, 64), 40.0, dtype=torch.float16)
    assert (queries @ queries.transpose(1, 2)).isinf().all()
    found = scaled_products(queries, queries)
    assert found.dtype == torch.float32 and found.item() == 40 * 40 * 64 / 8
