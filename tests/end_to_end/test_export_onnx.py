"""`export --format onnx`: text to vectors and translations with ONNX Runtime alone."""

import json
import sys

import numpy as np
import pytest

import fairseq_xling as xling
from fairseq_xling.cli import main
from fairseq_xling.interop.onnx_graphs import session
from fairseq_xling.text.encoder import TextEncoder
from tests.end_to_end.test_translate import Study

TEXTS = ["dog cat", "sun moon tree", "one"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("onnx"), backwards=True)


def export(study, folder, *options):
    return main(
        ["export", str(study.checkpoint), "--output", str(folder), "--format", "onnx", *options]
    )


def ids_of(folder, lang, texts):
    """(B, T) int64 as `onnx.json` says."""
    special = json.loads((folder / "onnx.json").read_text())["ids"]
    rows = [[special["<s>"], *row] for row in TextEncoder.load(folder, lang).encode(texts)]
    batch = np.full((len(rows), max(map(len, rows))), special["<pad>"])
    for number, row in enumerate(rows):
        batch[number, : len(row)] = row
    return batch


@pytest.mark.parametrize("layer", [None, 1])
def test_an_encoders_vectors_need_neither_torch_nor_the_data_folder(study, tmp_path, layer, capsys):
    folder = tmp_path / "onnx"
    chosen = [] if layer is None else ["--onnx-layer", str(layer)]
    assert export(study, folder, "--language", "en", *chosen) == 0
    assert capsys.readouterr().out.startswith(f"{folder}: en, layer {3 if layer is None else 1}, ")
    about = json.loads((folder / "onnx.json").read_text())
    assert about["graphs"] == {"encoder": {"inputs": ["tokens"], "outputs": ["states", "mean"]}}
    batch = ids_of(folder, "en", TEXTS)
    (mean,) = session(folder / "encoder.onnx").run(["mean"], {"tokens": batch})
    expected = xling.Encoder.load(study.checkpoint).encode(TEXTS, "en", layers=about["layer"])
    assert np.abs(mean - expected).max() < 1e-4


@pytest.mark.parametrize("int8", [False, True])
def test_a_translator_follows_the_order_that_it_is_given(study, tmp_path, int8):
    folder = tmp_path / "onnx"
    options = ["--onnx-int8"] if int8 else []
    assert export(study, folder, "--onnx-pair", "en-xx", *options) == 0
    assert json.loads((folder / "onnx.json").read_text())["int8"] is int8
    batch = ids_of(folder, "en", ["sun moon tree"])
    (middle,) = session(folder / "source.onnx").run(None, {"tokens": batch})
    order = np.array([[0, 3, 2, 1, 4]])
    given = {"middle": middle, "order": order, "padding": np.zeros(order.shape, dtype=bool)}
    (logits,) = session(folder / "target.onnx").run(None, given)
    words = TextEncoder.load(folder, "xx").decode(logits[0, 1:4].argmax(-1))
    assert words == "xtree xmoon xsun"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "`--language` must name one of en, xx, since the model has language embeddings"),
        (["--language", "de"], "`--language` must name one of en, xx, got 'de'"),
        (["--language", "en", "--onnx-layer", "9"], "`--onnx-layer` must lie in [0, 3], got 9"),
        (["--onnx-pair", "en"], "`--onnx-pair` must be two languages joined by -, got 'en'"),
        (["--onnx-pair", "en-xx", "--language", "en"], "leave out `--language`"),
    ],
)
def test_bad_options_leave_nothing_behind(study, tmp_path, capsys, options, message):
    assert export(study, tmp_path / "onnx", *options) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_the_runtime_the_extra_is_named(study, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert export(study, tmp_path / "onnx", "--language", "en") == 1
    assert "pip install 'fairseq_xling[onnx]'" in capsys.readouterr().err
