"""Products in 8 bits against exact arithmetic and against fp32."""

import pytest
import torch
from torch import nn

from fairseq_xling.errors import UserError
from fairseq_xling.models import int8
from fairseq_xling.models.heads import BertHead
from fairseq_xling.models.int8 import Int8Linear, activation_limit, quantise


def reference(weight, bias, x, limit):
    """What the layer computes, in exact integers and double precision."""
    sides = []
    for side, most in ((weight, 127), (x, limit)):
        scale = side.abs().amax(-1, keepdim=True) / most
        sides.append(((side / scale).round().long(), scale.double()))
    (w, w_scale), (q, q_scale) = sides
    return (q @ w.T).double() * q_scale * w_scale.T + bias


@pytest.mark.parametrize("limit", [127, 63])
def test_a_layer_is_the_product_of_rounded_numbers(monkeypatch, limit):
    if limit > activation_limit():
        pytest.skip("this processor adds two products in 16 bits, which 127 times 127 overflows")
    monkeypatch.setattr(int8, "activation_limit", lambda: limit)
    torch.manual_seed(1)
    weight, bias, x = torch.randn(33, 48), torch.randn(33), torch.randn(7, 48) * 3
    expected = reference(weight, bias, x, limit)
    found = Int8Linear(weight, bias)(x)
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), expected, atol=1e-4)
    exact = x @ weight.T + bias
    assert (found - exact).abs().mean() < 0.03 * exact.abs().mean()


def test_a_row_does_not_depend_on_the_others():
    torch.manual_seed(1)
    layer, x = Int8Linear(torch.randn(16, 24), torch.randn(16)), torch.randn(3, 5, 24)
    x[1] *= 100
    assert torch.equal(layer(x)[0, 2], layer(x[0, 2]))


def test_a_state_of_zeros_gives_the_bias():
    bias = torch.randn(16)
    assert torch.equal(Int8Linear(torch.randn(16, 24), bias)(torch.zeros(2, 24))[1], bias)


@pytest.mark.parametrize(
    ("capabilities", "limit"), [({"avx512_vnni": True}, 127), ({"avx2": True}, 63), ({}, 63)]
)
def test_processors_that_add_in_16_bits_get_smaller_states(monkeypatch, capabilities, limit):
    monkeypatch.setattr(int8, "cpu_capabilities", lambda: capabilities)
    assert activation_limit() == limit


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


def test_another_precision_is_refused_in_one_line():
    with pytest.raises(UserError) as error:
        quantise(nn.Linear(3, 3).bfloat16())
    assert str(error.value) == ("`--int8` needs a model on a CPU in fp32, got cpu torch.bfloat16")
