"""Trained models through torch.hub and `from_pretrained`, on a model that knows every word."""

from pathlib import Path

import numpy as np
import pytest
import torch

import fairseq_xling as xling
from fairseq_xling.api.hub import load
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.generation.translator import Translator
from fairseq_xling.models.separable_transformer import SeparableTransformer
from fairseq_xling.models.tri_encoder import TriTransformer
from tests.end_to_end.test_translate import Study

ROOT = Path(__file__).parents[2]
LAST = "checkpoint_last.pt"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("hub"), backwards=False)


@pytest.fixture(scope="module")
def folder(study):
    return str(study.checkpoint.parent)


@pytest.fixture(scope="module")
def hub(folder):
    return torch.hub.load(str(ROOT), "separable_transformer", folder, LAST, source="local")


def test_text_is_encoded_and_decoded(hub):
    ids = hub.encode("dog cat")
    assert ids.dtype == torch.int64 and ids[0] == 0 and ids[-1] == 2 and len(ids) == 4
    assert hub.decode(ids) == hub.decode(ids.tolist()) == "dog cat"
    assert hub.decode(torch.stack([ids, ids.flip(0)])) == ["dog cat", "cat dog"]
    assert hub.decode(hub.encode("xdog", "xx"), "xx") == "xdog"


def test_features_are_the_states_of_the_encoder_whatever_the_padding(hub, study):
    long, short = hub.encode("sun moon tree"), hub.encode("dog")
    batch = torch.ones(2, 6, dtype=torch.int64)
    batch[0, :5], batch[1, :3] = long, short
    both = hub.extract_features(batch)
    assert both.shape == (2, 6, 64)
    assert not both[0, 5:].any() and not both[1, 3:].any()
    for row, ids in enumerate((long, short)):
        alone = hub.extract_features(ids)
        assert torch.allclose(both[row, : len(ids)], alone[0], atol=1e-5)
    layers = hub.extract_features(long, return_all_hiddens=True)
    expected = xling.Encoder.load(study.checkpoint).encode(
        ["sun moon tree"], "en", layers="all", pooling="none"
    )[0]
    assert len(layers) == len(expected) > 2
    for ours, theirs in zip(layers, expected, strict=True):
        assert np.allclose(ours[0, 1:-1], theirs, atol=1e-5)
    word, other = (hub.extract_features(hub.encode(text)) for text in ("dog", "cat"))
    assert not torch.allclose(word, other, atol=1e-2)
    translated = hub.extract_features(hub.encode("xdog", "xx"), "xx")
    assert torch.allclose(translated, word, atol=1e-5)  # they have one vector


def test_a_mask_is_filled_and_text_translated(hub, study):
    expected = xling.Encoder.load(study.checkpoint).fill_mask("xdog <mask>", "xx", top_k=3)
    assert hub.fill_mask("xdog <mask>", 3, "xx") == expected
    assert hub.translate(["dog cat", ""], ordering="identity") == ["xdog xcat", ""]
    assert hub.translate("sun", ordering="identity", int8=True) == "xsun"
    assert hub.translate("sun", ordering="identity") == "xsun"


def test_options_of_a_translation_are_those_of_that_one_alone(folder):
    hub = load(folder, LAST)
    ids = hub.encode("dog cat")
    before = hub.extract_features(ids)
    for source, target in (("en", "xx"), ("xx", "en")):
        hub.translate("dog", ordering="identity", source=source, target=target)
        assert hub.task.direction == (source, target)
    for other in ({"precision": "bf16"}, {"int8": True}):
        hub.translate("dog", ordering="identity", **other)
        assert torch.equal(hub.extract_features(ids), before)
        assert {parameter.dtype for parameter in hub.parameters()} == {torch.float32}


def test_a_translator_is_kept_while_neither_options_nor_weights_change(folder, monkeypatch):
    hub, made, of = load(folder, LAST), [], Translator.of
    monkeypatch.setattr(Translator, "of", lambda *a, **k: (made.append(k), of(*a, **k))[1])
    for _ in range(2):
        assert hub.translate("dog", ordering="identity") == "xdog"
    assert len(made) == 1
    with torch.no_grad():
        next(hub.parameters()).mul_(1)
    hub.translate("dog", ordering="identity")
    hub.translate("dog", ordering="identity", int8=True)
    assert len(made) == 3


def test_no_ids_are_no_text(hub):
    assert hub.decode(torch.zeros(0, dtype=torch.int64)) == ""
    assert hub.decode(torch.zeros(2, 0, dtype=torch.int64)) == ["", ""]


def test_a_model_class_loads_folders_as_fairseqs_do(folder, tmp_path):
    for kind in (SeparableTransformer, TriTransformer):
        hub = kind.from_pretrained(folder, LAST, lang="xx")
        assert isinstance(hub.model, TriTransformer) and hub.lang == "xx"
        assert hub.decode(hub.encode("xdog")) == "xdog"
    exported = tmp_path / "exported"
    assert main(["export", f"{folder}/{LAST}", "--output", str(exported)]) == 0
    hub = torch.hub.load(str(ROOT), "tri_encoder", str(exported), source="local")
    assert hub.translate("dog", ordering="identity") == "xdog"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, h: SeparableTransformer.from_pretrained("none"), "none: no such folder"),
        (lambda f, h: SeparableTransformer.from_pretrained(f, "no.pt"), "no such checkpoint"),
        (lambda f, h: SeparableTransformer.from_pretrained(None), "`folder` must be a path, got"),
        (lambda f, h: SeparableTransformer.from_pretrained(f, LAST, lang="de"), "`lang`: .* 'de';"),
        (lambda f, h: h.encode(["dog"]), "`sentence` must be a string"),
        (lambda f, h: h.decode([9999]), r"`tokens` must be ids, in \[0, "),
        (lambda f, h: h.decode(torch.ones(3)), "`tokens` must be whole numbers"),
        (lambda f, h: h.extract_features(torch.tensor([7, 8])), "`tokens` must begin with <s>"),
        (lambda f, h: h.extract_features(h.encode("dog " * 90)), "`tokens` must be at most 40"),
        (lambda f, h: h.extract_features(h.encode("dog")[:0]), "`tokens` must begin with <s>"),
        (lambda f, h: h.extract_features(torch.tensor([1, 0, 7, 2])), "padding at the end of rows"),
        (lambda f, h: h.translate("dog", beam=5), "no option `beam` of translation"),
        (lambda f, h: h.fill_mask("dog"), "`text` must contain <mask> exactly once"),
        (lambda f, h: h.translate([1]), "`sentences` must be strings"),
    ],
)
def test_bad_arguments_are_named(folder, hub, call, message):
    with pytest.raises(UserError, match=message):
        call(folder, hub)


def test_a_model_of_another_class_is_refused(folder):
    with pytest.raises(UserError, match="must be a model of class Linear, got TriTransformer"):
        load(folder, LAST, kind=torch.nn.Linear)


class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_checkpoint_is_not_unpickled(tmp_path):
    made = tmp_path / "made"
    torch.save({"model": Runs(made)}, tmp_path / LAST)
    with pytest.raises(UserError):
        torch.hub.load(str(ROOT), "separable_transformer", str(tmp_path), LAST, source="local")
    assert not made.exists()
    torch.load(tmp_path / LAST, weights_only=False)  # the file would have
    assert made.exists()
