"""Without padding, losses and gradients are those with it, on every objective."""

import functools

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.sources import Row
from fairseq_xling.data.unpadded import unpadded_layout
from fairseq_xling.engine import compat
from fairseq_xling.models.auxiliary import auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.layer import EncoderLayer, attention_mask
from fairseq_xling.models.separable_transformer import SeparableTransformer
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.tri_encoder import TriTransformer
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.models.unpadded import Segments, _fused, attend_segments
from fairseq_xling.objectives import objectives
from tests.framed_rows import side

LANGS = {"en": 0, "de": 1}
SIZES = {"en": 30, "de": 30}


def rows(number=7, seed=3, further=False):
    """Pairs of all lengths; some words of the target have no or several links."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        source, target = rng.integers(1, 9, 2)
        order = np.r_[0, rng.integers(-1, source + 1, target), source + 1]
        links = rng.integers(-1, source + 1, (len(order), 2)) if further else None
        words = [rng.integers(6, 30, n) for n in (source, target)]
        made.append(Row(side(words[0], "en"), side(words[1], "de"), order, further=links))
    return made


def examples(options, *named):
    vocabulary, rng = Vocabulary(SIZES, LANGS), np.random.default_rng(5)
    return [objectives[name](options(mask_prob=0.4), vocabulary)(row, rng) for name, row in named]


def model_of(tri, separate="", auxiliary=(), layers=4, **changes):
    torch.manual_seed(1)
    rates = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3}
    tables = {"language_embeddings": True, "num_segments": 2, "lm_head": "bert"}
    shape = EncoderShape(layers, 16, 32, 4, 40, **rates | tables | changes)
    encoder = (TriEncoder if tri else SeparableEncoder)(
        shape, SIZES, SharingPlan.parse(separate, layers)
    )
    heads = {name: auxiliary_heads[name](shape, 2) for name in auxiliary}
    return (TriTransformer if tri else SeparableTransformer)(encoder, {}, heads).train()


def outcome(model, batch, layers=(), unpadded=True):
    """The logits, what heads return, the states of ``layers``, and all gradients."""
    inputs = dict(batch["net_input"])
    if not unpadded:
        del inputs["unpadded"]
    model.zero_grad()
    found = model(**inputs, layers=layers)
    target = batch["target"][found.where]
    loss = torch.nn.functional.cross_entropy(found.logits, target)
    for total, count in found.auxiliary.values():
        loss = loss + total / count.clamp(min=1)
    padding = {name: batch["net_input"][name].get("padding_mask") for name in ("src", "tgt")}
    states = []
    for number, x in (found.states or {}).items():
        above = model.encoder.reorders and number > len(model.encoder.layers) // 2
        mask = padding["tgt" if above else "src"]
        states.append(x if mask is None else x.masked_fill(mask[..., None], 0))
    loss = loss + sum(x.square().mean() for x in states)
    loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return [loss, found.logits, *found.where, *states], gradients


def assert_same(model, batch, layers=()):
    ours, gradients = outcome(model, batch, layers)
    theirs, expected = outcome(model, batch, layers, unpadded=False)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(
            gradient, expected[name], rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


def batch_of(found, tri, pair=None):
    layout = functools.partial(unpadded_layout, null=tri)
    return collate(found, [0] * len(found), list(range(len(found))), pair, layout)


@pytest.mark.parametrize("tri", (False, True))
@pytest.mark.parametrize("name", ("mlm", "tlm", "brlm-mask", "brlm-attn"))
def test_losses_and_gradients_are_those_with_padding(name, tri, options):
    batch = batch_of(examples(options, *((name, row) for row in rows())), tri)
    assert_same(model_of(tri), batch, layers=(0, 1, 3))


@pytest.mark.parametrize("further", (False, True))
@pytest.mark.parametrize("copies", (False, True))
def test_an_order_null_states_and_copies_are_those_with_padding(further, copies, options):
    found = examples(options, *(("cdlm", row) for row in rows(further=further)))
    if further:
        for example, row in zip(found, rows(further=True), strict=True):
            example.further = row.further
    batch = batch_of(found, True)
    assert ("shares" in batch["net_input"]["unpadded"]["tgt"]) == further
    assert_same(model_of(True, copy_embeddings=copies), batch, layers=(1, 2, 3, 5))


@pytest.mark.parametrize("auxiliary", ((), ("order",)))
def test_a_batch_of_all_objectives_is_that_with_padding(auxiliary, options):
    names = ("mlm", "cdlm", "brlm-attn", "tlm", "brlm-mask", "cdlm", "brlm-attn")
    batch = batch_of(examples(options, *zip(names, rows(), strict=True)), True)
    assert_same(model_of(True, auxiliary=auxiliary), batch)


@pytest.mark.parametrize("tri", (False, True))
def test_private_parts_are_those_with_padding(tri, options):
    name = "cdlm" if tri else "mlm"
    batch = batch_of(examples(options, *((name, row) for row in rows())), tri, ("en", "de"))
    assert_same(model_of(tri, "emb,1,3"), batch)


def test_glancing_is_that_with_padding(options):
    batch = batch_of(examples(options, *(("cdlm", row) for row in rows())), True)
    model = model_of(True)
    model.glancing = 0.5
    found = []
    for unpadded in (True, False):
        torch.manual_seed(4)
        found.append(outcome(model, batch, unpadded=unpadded))
    for one, other in zip(*(outputs for outputs, _ in found), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("emission", ("ctc", "lattice"))
def test_slots_begin_as_they_do_with_padding(emission, options):
    batch = batch_of(examples(options, *(("cdlm", row) for row in rows())), True)
    model = model_of(True, emission=emission, upsample=4, copy_embeddings=True)
    losses = []
    for unpadded in (True, False):
        inputs = dict(batch["net_input"])
        if not unpadded:
            del inputs["unpadded"]
        losses.append(model(**inputs).emitted.nll)
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)


def test_a_layer_computes_what_it_computes_with_padding_in_any_groups():
    torch.manual_seed(2)
    layer = EncoderLayer(16, 32, 4, 0.0, 0.0)
    lengths = [5, 1, 8]
    x = torch.randn(3, 8, 16)
    mask = torch.arange(8) >= torch.tensor(lengths)[:, None]
    expected = layer(x, attention_mask(mask))[~mask]
    bounds = torch.tensor([0, 5, 6, 14, 14, 14], dtype=torch.int32)  # the last two are empty
    found = layer(x[~mask], Segments(bounds, 128, 0))
    torch.testing.assert_close(found, expected)


def test_attention_of_segments_drops_its_weights_at_their_rate():
    torch.manual_seed(3)
    qkv = torch.ones(2000, 3 * 4)
    bounds = torch.arange(0, 2001, 10, dtype=torch.int32)
    mixed = attend_segments(qkv, 2, Segments(bounds, 128, 10), 0.25)
    assert mixed.unique().numel() > 2  # of 10 equal weights each is there or not
    assert mixed.mean().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("rate", (0.0, 0.1))
@pytest.mark.parametrize("short", (0, 1000))
def test_a_gpus_kernels_take_these_arguments_and_have_gradients(short, rate, monkeypatch):
    """There are none on a CPU: on a device that holds no numbers, shapes are those of a GPU."""
    monkeypatch.setattr("fairseq_xling.models.unpadded._SHORT", short)
    parts = torch.empty(64, 3, 2, 8, dtype=torch.bfloat16, device="meta", requires_grad=True)
    bounds = torch.empty(5, dtype=torch.int32, device="meta")
    mixed = _fused(parts, Segments(bounds, 128, 16), rate)
    assert mixed.shape == (64, 2, 8) and mixed.dtype == torch.bfloat16
    mixed.sum().backward()
    assert parts.grad.shape == parts.shape


@pytest.mark.parametrize("short", (0, 1000))
def test_without_a_gpus_kernels_attention_is_that_of_each_segment(short, monkeypatch):
    monkeypatch.setattr("fairseq_xling.models.unpadded._SHORT", short)
    monkeypatch.setattr("fairseq_xling.models.unpadded.operator", lambda name: None)
    torch.manual_seed(1)
    parts = torch.randn(9, 3, 2, 8)
    mixed = _fused(parts, Segments(torch.tensor([0, 4, 4, 9], dtype=torch.int32), 128, 4), 0.0)
    for begin, end in ((0, 4), (4, 9)):
        query, key, value = parts[begin:end].permute(1, 2, 0, 3)
        alone = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        torch.testing.assert_close(mixed[begin:end], alone.transpose(0, 1))


@pytest.mark.parametrize("name", (compat.KERNEL, compat.SHORT_KERNEL))
def test_without_a_gpus_kernels_padding_is_kept(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert compat.has_flash_attention(64)
    found = compat.operator
    monkeypatch.setattr(compat, "operator", lambda one: None if one == name else found(one))
    assert not compat.has_flash_attention(64)
