"""Products in 8 bits against exact arithmetic and against fp32."""

import copy

import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.models import int8
from fairseq_xling.models.heads import BertHead, LinearHead
from fairseq_xling.models.int8 import Int8Linear, StaticInt8Linear, quantise, weight_limit
from fairseq_xling.models.layer import EncoderLayer, activations
from fairseq_xling.models.reading import ReadingLayer


def rounded(side, most):
    """Rows as integers of at most ``most``, and the scale of each."""
    scale = side.abs().amax(-1, keepdim=True) / most
    return (side / scale).round().long(), scale.double()


def reference(weight, bias, x, limit):
    """What the layer computes, in exact integers and double precision."""
    (w, w_scale), (q, q_scale) = rounded(weight, limit), rounded(x, 127)
    return (q @ w.T).double() * q_scale * w_scale.T + bias


@pytest.mark.parametrize("limit", [127, 63])
def test_a_layer_is_the_product_of_rounded_numbers(monkeypatch, limit):
    if limit > weight_limit():
        pytest.skip("this processor adds two products in 16 bits, which 255 times 127 overflows")
    monkeypatch.setattr(int8, "weight_limit", lambda: limit)
    torch.manual_seed(1)
    weight, bias, x = torch.randn(33, 48), torch.randn(33), torch.randn(7, 48) * 3
    expected = reference(weight, bias, x, limit)
    found = Int8Linear(weight, bias)(x)
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), expected, atol=1e-4)
    exact = x @ weight.T + bias
    assert (found - exact).abs().mean() < 0.03 * exact.abs().mean()


def ranged_reference(linear, most, x):
    """The same of a layer whose states are in a known range: each column of them is divided by
    sqrt(its range / the largest weight of the column), and the weights multiplied by it."""
    weight = linear.weight.detach()
    columns = (most / weight.abs().amax(0)).sqrt()
    w, w_scale = rounded(weight * columns, weight_limit())
    size = (most / columns).max().double() / 127
    q = (x / columns / size).round().clamp(-127, 127).long()
    return (q @ w.T).double() * size * w_scale.T + linear.bias


def test_states_of_a_known_range_have_a_scale_for_each_column():
    torch.manual_seed(1)
    linear, x = nn.Linear(48, 33), torch.randn(7, 48)
    x[:, 5] *= 40  # as pretrained encoders have them
    most = x.abs().amax(0)
    found = StaticInt8Linear(linear, most)(x)
    assert torch.allclose(found.double(), ranged_reference(linear, most, x), atol=1e-4)
    exact = linear(x)
    by_rows = Int8Linear(linear.weight.data, linear.bias.data)(x)
    assert (found - exact).abs().mean() < 0.75 * (by_rows - exact).abs().mean()
    plus = torch.randn(7, 33)
    before = plus.clone()
    assert torch.allclose(StaticInt8Linear(linear, most)(x, plus), found + plus, atol=1e-5)
    assert torch.equal(plus, before)  # a state that may be kept


def test_a_state_out_of_its_range_is_cut():
    torch.manual_seed(1)
    linear, x = nn.Linear(8, 8), torch.randn(3, 8)
    layer = StaticInt8Linear(linear, x.abs().amax(0))
    assert torch.equal(layer(x.sign() * 1e9), layer(x.sign() * 2e9))


def layers(activation="gelu", count=2, dim=32):
    torch.manual_seed(1)
    made = [EncoderLayer(dim, 4 * dim, 4, activation=activation) for _ in range(count)]
    return nn.Sequential(*made).eval()


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu", "own"])
def test_layers_are_near_those_in_fp32(monkeypatch, activation, native):
    monkeypatch.setitem(activations._entries, "own", torch.tanh)
    monkeypatch.setattr(int8, "cpu_has_bf16", lambda: native)
    model, x = layers(activation), torch.randn(3, 7, 32)
    expected, before = model(x), x.clone()
    quantise(model, lambda: model(x))
    assert [type(layer) for layer in model] == 2 * [ReadingLayer]
    found = model(x)
    assert torch.equal(x, before) and torch.equal(copy.deepcopy(model)(x), found)
    assert not torch.equal(found, expected)
    assert (found - expected).abs().mean() < 0.03 * expected.abs().mean()


def test_a_row_of_a_layer_does_not_depend_on_the_others(monkeypatch):
    monkeypatch.setattr(int8, "cpu_has_bf16", lambda: False)
    model, x = layers(), torch.randn(3, 5, 32)
    quantise(model, lambda: model(x))
    found = model(torch.cat([x[:1], 100 * x[1:]]))[0]
    assert torch.allclose(found, model(x[:1])[0], atol=1e-5)


def test_a_hidden_layer_may_be_dead():
    model, x = layers("relu"), torch.randn(3, 5, 32)
    for layer in model:
        layer.fc1.bias.data.fill_(-1e3)
    expected = model(x)
    quantise(model, lambda: model(x))
    assert (model(x) - expected).abs().mean() < 0.03 * expected.abs().mean()


def test_a_layer_that_was_not_reached_has_scales_by_rows():
    model, x = layers(), torch.randn(3, 5, 32)
    expected = model(x)
    quantise(model, lambda: model[0](x))
    assert [type(layer) for layer in model] == [ReadingLayer, EncoderLayer]
    assert isinstance(model[1].fc2, Int8Linear)
    found = model(x)
    assert (found - expected).abs().mean() < 0.03 * expected.abs().mean()

    def never():
        raise AssertionError("nothing is left to be converted")

    quantise(model, never)
    assert torch.equal(model(x), found)


def test_a_state_of_zeros_gives_the_bias():
    bias = torch.randn(16)
    assert torch.equal(Int8Linear(torch.randn(16, 24), bias)(torch.zeros(2, 24))[1], bias)


@pytest.mark.parametrize(
    ("capabilities", "limit"), [({"avx512_vnni": True}, 127), ({"avx2": True}, 63), ({}, 63)]
)
def test_processors_that_add_in_16_bits_get_smaller_weights(monkeypatch, capabilities, limit):
    monkeypatch.setattr(int8, "cpu_capabilities", lambda: capabilities)
    assert weight_limit() == limit


def test_a_models_layers_and_output_are_replaced():
    torch.manual_seed(1)
    model = nn.ModuleDict({"head": BertHead(24, 50), "norm": nn.LayerNorm(24)})
    x, tables = torch.randn(5, 24), [nn.Parameter(torch.randn(50, 24)) for _ in range(2)]
    before = [model["head"](x, table) for table in tables]
    quantise(model)
    assert isinstance(model["head"].dense, Int8Linear)
    for table, exact in zip(tables, before, strict=True):  # two languages share the head
        found = model["head"](x, table)
        assert not torch.equal(found, exact)
        assert (found - exact).abs().mean() < 0.05 * exact.abs().mean()


@pytest.mark.parametrize("native", [True, False])
def test_products_with_each_rows_own_tokens_are_in_bf16_where_the_processor_has_it(
    monkeypatch, native
):
    monkeypatch.setattr(int8, "cpu_has_bf16", lambda: native)
    torch.manual_seed(1)
    head = LinearHead(24, 50)
    head.bias.data.normal_()
    x, tokens = torch.randn(3, 5, 24), torch.randint(50, (3, 7))
    tables = [nn.Parameter(torch.randn(50, 24)) for _ in range(2)]
    before = [head(x, table, tokens) for table in tables]
    quantise(head)
    for model in (head, copy.deepcopy(head)):
        for table, exact in zip(tables, before, strict=True):  # two languages share the head
            found = model(x, table, tokens)
            assert found.dtype == torch.float32
            assert torch.equal(found, exact) is not native
            products = (x[:, :, None] * table[tokens][:, None]).abs().sum(-1)
            assert ((found - exact).abs() <= 2**-7 * products).all()


def test_another_precision_or_device_is_refused_in_one_line():
    for model, got in (
        (nn.Linear(3, 3).bfloat16(), "cpu torch.b"),
        (nn.Linear(3, 3).to("meta"), "meta"),
    ):
        with pytest.raises(
            UserError, match=rf"^`--int8` needs a model on a CPU in fp32, got {got}"
        ):
            quantise(model)


def test_without_such_products_a_model_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(int8, "operator", lambda name: None)
    model = nn.Linear(3, 3)
    with pytest.raises(UserError, match=r"^`--int8` needs a torch with oneDNN, which this one"):
        quantise(model)
    assert type(model) is nn.Linear
