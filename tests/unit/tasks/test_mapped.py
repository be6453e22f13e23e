"""Two encoders that differ by a rotation of their states: a map makes one of them (SPEC S6)."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fit import fit_rows
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.transfer_encoder import TransferEncoder
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.tasks.mapped import MappedModel, MappedTask, module_of, states_after

WORDS, CLASSES, WIDTH = 20, 4, 16


def make_encoder(kind=SeparableEncoder, separate="", layers=2, dim=WIDTH, **changes):
    torch.manual_seed(1)
    rates = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.2}
    shape = EncoderShape(layers, dim, 32, 4, 12, **rates | changes)
    sizes = {"en": WORDS, "de": WORDS}
    encoder = kind(shape, sizes, SharingPlan.parse(separate, layers)).eval()
    with torch.no_grad():  # so that a linear tagger finds the words again
        encoder.positions.select("en").weight.mul_(0.2)
    return encoder


def make_src(rows=60, seed=3, lang=0):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(6, WORDS, (rows, 7), generator=generator)
    mask = torch.arange(7) >= torch.randint(3, 8, (rows, 1), generator=generator)
    tokens[mask] = 1
    return {
        "tokens": tokens,
        "positions": torch.arange(7).expand(rows, 7),
        "langs": torch.full_like(tokens, lang),
        "segments": torch.zeros_like(tokens),
        "padding_mask": mask,
    }


class Rotated(nn.Module):
    """A module whose output is turned."""

    def __init__(self, module, turn):
        super().__init__()
        self.module, self.turn = module, turn

    def forward(self, *args):
        return self.module(*args) @ self.turn


def rotate(encoder, layer, seed=9):
    """``encoder`` with its states after ``layer`` turned, and moved by an offset."""
    torch.manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(WIDTH, WIDTH)).Q
    if layer == 0:
        encoder.embedding_norm = Rotated(encoder.embedding_norm, turn)
    else:
        slot = encoder.layers[layer - 1]
        slot.shared = Rotated(slot.shared, turn)
    return encoder


class Tagger(nn.Module):
    """The scores of `CLASSES` classes for each token, linear in the states."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, CLASSES)

    def forward(self, states, fields):
        return {"tags": self.linear(states)}


def gold(src):
    return src["tokens"] % CLASSES


def accuracy(model, src, pair=("en", "en")):
    with torch.no_grad():
        tags = model(src, pair, {})["tags"].argmax(-1)
    words = ~src["padding_mask"]
    return float((tags == gold(src))[words].double().mean())


@pytest.fixture
def trained():
    """``trained(encoder)``: the encoder with a tagger that fits the classes of English words."""

    def make(encoder):
        model = TransferEncoder(encoder, Tagger()).eval()
        src = make_src(400)
        with torch.no_grad():
            states = encoder.states(src, ("en", "en"))[-1][~src["padding_mask"]]
            wanted = nn.functional.one_hot(gold(src)[~src["padding_mask"]], CLASSES).float()
            rows = torch.cat([states, torch.ones(len(states), 1)], 1)
            found = torch.linalg.lstsq(rows, wanted).solution
            model.network.linear.weight.copy_(found[:-1].T)
            model.network.linear.bias.copy_(found[-1])
        return model

    return make


def fit(moving, fixed, layer, normalize="centre"):
    """A map from parallel text, where a word is its own translation."""
    src = make_src(200, seed=5)
    rows = [
        states_after(each, src, ("en", "en"), layer)[:, :7][~src["padding_mask"]].detach()
        for each in (moving, fixed)
    ]
    return FittedMap({layer: fit_rows(*rows, normalize=normalize)})


@pytest.mark.parametrize("normalize", ["centre", "iterative"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_mapped_states_give_the_sources_accuracy_and_others_chance(trained, layer, normalize):
    model, turned = trained(make_encoder()), rotate(make_encoder(), layer)
    src = make_src(100, seed=7)
    own = accuracy(model, src)
    assert own > 0.8
    found = fit(turned, model.encoder, layer, normalize)
    mapped = MappedModel(turned, found, model, layer, "en", 0)
    assert accuracy(mapped, src) == own
    with torch.no_grad():
        outputs = [one(src, ("en", "en"), {})["tags"] for one in (mapped, model)]
    torch.testing.assert_close(*outputs, atol=1e-3, rtol=1e-3)
    nothing = FittedMap({layer: LayerMap(Side(WIDTH), Side(WIDTH))})
    unmapped = [
        MappedModel(rotate(make_encoder(), layer, seed), nothing, model, layer, "en", 0)
        for seed in range(12)
    ]
    mean = sum(accuracy(each, src) for each in unmapped) / len(unmapped)
    assert abs(mean - 1 / CLASSES) < 0.1


def test_no_map_between_equal_encoders_changes_nothing(trained):
    for kind, layers in ((SeparableEncoder, 2), (TriEncoder, 4)):
        model = trained(make_encoder(kind, layers=layers, language_embeddings=True))
        src = make_src()
        with torch.no_grad():
            expected = model(src, ("en", "en"), {})["tags"]
            for layer in range(model.encoder.depth + 1):
                nothing = FittedMap({layer: LayerMap(Side(WIDTH), Side(WIDTH))})
                mapped = MappedModel(model.encoder, nothing, model, layer, "en", 0)
                found = mapped(src, ("en", "en"), {})["tags"]
                torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        assert torch.equal(model(src, ("en", "en"), {})["tags"], expected)  # no hook is left


def test_below_the_layer_only_the_texts_encoder_counts_above_only_the_other(trained):
    model, lower = trained(make_encoder(separate="emb,1-2")), make_encoder(separate="emb,1-2")
    nothing = FittedMap({1: LayerMap(Side(WIDTH), Side(WIDTH))})
    mapped = MappedModel(lower, nothing, model, 1, "en", 0)
    src = make_src(lang=1)

    def change_of_tags(encoder, part):
        """How far the outputs move when the parameters called ``part`` do."""
        with torch.no_grad():
            before = mapped(src, ("de", "de"), {})["tags"]
            chosen = [p for name, p in encoder.named_parameters() if name.startswith(part)]
            kept = [p.clone() for p in chosen]
            for parameter in chosen:
                parameter.add_(torch.rand_like(parameter))
            after = mapped(src, ("de", "de"), {})["tags"]
            for parameter, old in zip(chosen, kept, strict=True):
                parameter.copy_(old)
        assert chosen
        return float((after - before).abs().max())

    below = ("tokens.private.de", "positions.private.de", "layers.0.private.de")
    for encoder, parts in ((lower, below), (model.encoder, ("layers.1.private.en",))):
        for lang in ("en", "de"):
            for part in ("tokens", "positions", "layers.0", "layers.1"):
                name = f"{part}.private.{lang}"
                moved = change_of_tags(encoder, name)
                assert moved > 0.01 if name in parts else moved == 0, name


def test_a_head_may_read_the_mapped_layer_itself():
    """SPEC S6: the head and layers of its own stand on the frozen layer i."""
    own = TransferEncoder(make_encoder(), Tagger(), read_layer=1, head_layers=1).eval()
    turned, src = rotate(make_encoder(), 1), make_src()
    mapped = MappedModel(turned, fit(turned, own.encoder, 1), own, 1, "en", 0)
    with torch.no_grad():
        outputs = [one(src, ("en", "en"), {})["tags"] for one in (mapped, own)]
    torch.testing.assert_close(*outputs, atol=1e-3, rtol=1e-3)


def test_layers_are_counted_as_extract_counts_them():
    encoder = make_encoder(TriEncoder, layers=4)
    src = make_src(3)
    states = encoder.states(src, ("en", "en"))
    for layer in range(6):
        found = states_after(encoder, src, ("en", "en"), layer)
        assert torch.equal(found[:, :7], states[layer])
    assert module_of(encoder, 3, "en") is encoder.trilayer


def test_what_does_not_fit_is_refused(trained):
    model, lower = trained(make_encoder()), make_encoder()
    plain = FittedMap({1: LayerMap(Side(WIDTH), Side(WIDTH))})
    with pytest.raises(UserError, match=r"must be one that the map has \(1\), got 2"):
        MappedModel(lower, plain, model, 2, "en", 0)
    far = FittedMap({7: LayerMap(Side(WIDTH), Side(WIDTH))})
    with pytest.raises(UserError, match=r"`layer` must lie in \[0, 2\], got 7"):
        MappedModel(lower, far, model, 7, "en", 0)
    message = "leads from states 16 wide to 16, the encoders are 8 and 16 wide"
    with pytest.raises(UserError, match=message):
        MappedModel(make_encoder(dim=8), plain, model, 1, "en", 0)
    low = TransferEncoder(make_encoder(), Tagger(), read_layer=0)
    with pytest.raises(UserError, match="must be at most 0, which the head reads, got 1"):
        MappedModel(lower, plain, low, 1, "en", 0)
    rows = torch.randn(50, WIDTH)
    both = FittedMap({1: fit_rows(rows, rows, "meeting")}, "meeting")
    with pytest.raises(UserError, match="a map by 'meeting' moves both sides"):
        MappedModel(lower, both, model, 1, "en", 0)
    other = MappedModel(make_encoder(TriEncoder), plain, model, 1, "en", 0)
    with pytest.raises(UserError, match="both encoders must have a TRILayer below it, or neither"):
        other(make_src(2), ("en", "en"), {})


def test_texts_are_in_the_languages_of_the_encoder_that_reads_them():
    task, reader = SimpleNamespace(languages=["en"], head="head"), SimpleNamespace(languages=["de"])
    mapped = MappedTask(task, reader, 12)
    assert (mapped.languages, mapped.head) == (["de"], "head")
    with pytest.raises(UserError, match="unknown language of the mapped encoder 'en'"):
        mapped.read("en", "text.tsv")
