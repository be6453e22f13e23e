"""Products by oneDNN against torch's own."""

import copy

import pytest
import torch
from torch import nn

from fairseq_xling.engine import compat
from fairseq_xling.engine.compat import packs_weights
from fairseq_xling.models import packed
from fairseq_xling.models.heads import BertHead
from fairseq_xling.models.layer import EncoderLayer, activations
from fairseq_xling.models.packed import PackedLinear, pack
from fairseq_xling.models.reading import ReadingLayer

DTYPES = [torch.float32, torch.bfloat16]


@pytest.fixture(params=DTYPES, ids=["fp32", "bf16"])
def dtype(request):
    if not packs_weights(request.param):
        pytest.skip("this processor has no such products")
    return request.param


def near(dtype):
    return {"atol": 1e-4, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.05}


@pytest.fixture
def model(dtype):
    torch.manual_seed(1)
    return nn.Sequential(EncoderLayer(32, 128, 4).eval().to(dtype))


def before_and_packed(model, x, mask):
    expected = model[0](x, mask).detach()
    pack(model)
    return model[0](x, mask), expected


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu", "own"])
@pytest.mark.parametrize("masked", [True, False])
def test_a_layer_is_that_of_torch(monkeypatch, dtype, activation, masked):
    monkeypatch.setitem(activations._entries, "own", torch.tanh)
    torch.manual_seed(1)
    layer = EncoderLayer(32, 128, 4, activation=activation).eval().to(dtype)
    model, x = nn.Sequential(layer), torch.randn(3, 7, 32).to(dtype)
    mask = None
    if masked:
        mask = torch.ones(3, 1, 1, 7, dtype=torch.bool)
        mask[1, ..., 4:] = False
    expected, before = layer(x, mask), x.clone()
    pack(model)
    assert isinstance(model[0], ReadingLayer)
    torch.testing.assert_close(model[0](x, mask), expected.detach(), **near(dtype))
    assert torch.equal(x, before)
    pack(model)  # what was replaced stays
    torch.testing.assert_close(model[0](x, mask), expected.detach(), **near(dtype))


@pytest.mark.parametrize("length", [7, 14, 27])  # keys are added to the last two
@pytest.mark.parametrize("masked", [True, False])
def test_many_short_sentences_have_the_attention_of_each_alone(dtype, model, masked, length):
    x, mask = torch.randn(40, length, 32).to(dtype), None
    if masked:
        mask = torch.rand(40, 1, length, length) < 0.7
        mask |= torch.eye(length, dtype=torch.bool)
    found, expected = before_and_packed(model, x, mask)
    torch.testing.assert_close(found, expected, **near(dtype))
    alone = [model[0](x[i : i + 1], None if mask is None else mask[i : i + 1]) for i in (0, 1)]
    torch.testing.assert_close(found[:2], torch.cat(alone), **near(dtype))


@pytest.mark.parametrize("real", [0.3, 0.89, 0.95, 1.0])  # little padding is read, too
def test_padding_changes_nothing_of_the_others(dtype, model, real):
    x = torch.randn(40, 20, 32).to(dtype)
    keys = torch.rand(40, 20) < real  # wherever it stands
    keys[:, 0] = True
    mask = keys[:, None, None]
    found, expected = before_and_packed(model, x, mask)
    torch.testing.assert_close(found[keys], expected[keys], **near(dtype))
    assert bool(found.isfinite().all())
    x[~keys] = 9.0
    torch.testing.assert_close(model[0](x, mask)[keys], found[keys])


@pytest.mark.parametrize("sizes", [[0] * 40 + [30] * 3, [0] * 43])
def test_sentences_of_padding_alone_are_no_obstacle(dtype, model, sizes):
    x = torch.randn(43, 30, 32).to(dtype)
    keys = torch.arange(30) < torch.tensor(sizes)[:, None]
    found, expected = before_and_packed(model, x, keys[:, None, None])
    torch.testing.assert_close(found[keys], expected[keys], **near(dtype))


def test_one_mask_for_all_sentences_is_read_as_such(dtype, model):
    x, mask = torch.randn(40, 20, 32).to(dtype), (torch.arange(20) < 9)[None, None, None]
    found, expected = before_and_packed(model, x, mask)
    torch.testing.assert_close(found[:, :9], expected[:, :9], **near(dtype))


@pytest.mark.parametrize("shape", [(5, 24), (2, 3, 24), (0, 24)])
def test_products_have_any_shape(dtype, shape):
    torch.manual_seed(1)
    linear, x = nn.Linear(24, 10).to(dtype), torch.randn(shape).to(dtype)
    found = PackedLinear(linear.weight.data, linear.bias.data)(x)
    torch.testing.assert_close(found, linear(x).detach(), **near(dtype))


def test_a_head_has_the_embeddings_of_each_language(dtype):
    torch.manual_seed(1)
    model = nn.ModuleDict({"head": BertHead(24, 50)}).to(dtype)
    x = torch.randn(5, 24).to(dtype)
    tables = [nn.Parameter(torch.randn(50, 24).to(dtype)) for _ in range(2)]
    expected = [model["head"](x, table).detach() for table in tables]
    pack(model)
    assert isinstance(model["head"].dense, PackedLinear)
    for table, one in zip(tables, expected, strict=True):
        torch.testing.assert_close(model["head"](x, table), one, **near(dtype))


def test_a_copy_computes_the_same(dtype):
    torch.manual_seed(1)
    parts = {"layer": EncoderLayer(24, 48, 4).eval(), "head": BertHead(24, 50)}
    model = nn.ModuleDict(parts).to(dtype)
    x, tables = torch.randn(2, 5, 24).to(dtype), torch.randn(2, 50, 24).to(dtype)
    pack(model)
    expected = [model["head"](model["layer"](x), table) for table in tables]
    other = copy.deepcopy(model)
    for table, one in zip(tables, expected, strict=True):
        assert torch.equal(other["head"](other["layer"](x), table), one)


@pytest.mark.parametrize(
    "lacking", ["_reorder_linear_weight", "_linear_pointwise", "_linear_pointwise.binary"]
)
def test_without_such_products_the_model_stays(monkeypatch, lacking):
    found = compat.operator
    monkeypatch.setattr(
        compat, "operator", lambda name: None if name.endswith(f".{lacking}") else found(name)
    )
    monkeypatch.setattr(packed, "packs_weights", packs_weights.__wrapped__)  # it asks once
    torch.manual_seed(1)
    model, x = nn.Sequential(EncoderLayer(8, 16, 2)).eval(), torch.randn(2, 3, 8)
    expected = model(x)
    pack(model)
    assert type(model[0]) is EncoderLayer and torch.equal(model(x), expected)
