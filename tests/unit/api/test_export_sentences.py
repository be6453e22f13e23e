"""What `--format sentence-transformers` writes, read by that library, gives our means."""

import logging

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from fairseq_xling.api import export_hf
from fairseq_xling.api.encoder import Encoder
from fairseq_xling.cli import main
from fairseq_xling.data.folder import SPECIALS
from tests.exported_models import LINES, ODD, make_checkpoint, make_data

LONG = "dog cat runs " * 40  # more than the model's 77 positions
TEXTS = [*LINES, LONG, "   "]
ALL = 5  # layers of an `ODD` model
# Mode, kind and segmentation of the vocabulary; the model's options; the layer.
MODELS = {
    "joint": (("joint", "unigram", "space"), "", None),
    "private": (("prefixed", "word", "space"), "--separate emb,1-2 --num-segments 2", 2),
    "language embeddings": (("joint", "wordpiece", "basic"), "--language-embeddings", 0),
}


@pytest.fixture(scope="module", params=MODELS)
def written(request, tmp_path_factory):
    """A checkpoint, the folder exported of it, and the layer."""
    folder = tmp_path_factory.mktemp("sentences")
    kind, options, layer = MODELS[request.param]
    data = make_data(folder, *kind)
    checkpoint = make_checkpoint(folder / "model.pt", data, f"{ODD} {options}")
    chosen = [] if layer is None else ["--sentence-layer", str(layer)]
    assert export(checkpoint, folder / "out", *chosen) == 0
    return checkpoint, folder / "out", ALL if layer is None else layer


def export(checkpoint, folder, *options):
    line = ["export", str(checkpoint), "--output", str(folder), "--language", "de"]
    return main([*line, "--format", "sentence-transformers", *options])


def test_vectors_of_texts_are_our_means(written, caplog):
    checkpoint, folder, layer = written
    model = SentenceTransformer(str(folder), device="cpu")
    # Nothing is missing, and nothing is too much; other tests may let the library talk more.
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    ours = Encoder.load(checkpoint).encode(TEXTS, "de", layers=layer)
    np.testing.assert_allclose(model.encode(TEXTS), ours, rtol=1e-5, atol=1e-5)
    assert np.abs(ours[0]).max() > 0.1 and not ours[-1].any()

    weights = model[1].emb_layer.weight[:, 0].tolist()
    assert len(weights) == model[0].auto_model.config.vocab_size
    assert weights == [0.0] * SPECIALS + [1.0] * (len(weights) - SPECIALS)
    assert model.max_seq_length == 77
    assert model[0].auto_model.config.num_hidden_layers == layer


@pytest.mark.parametrize("written", ["private"], indirect=True)
def test_a_call_that_was_killed_is_made_up_for_and_all_may_read_it(written, monkeypatch):
    checkpoint, folder, _ = written
    output = folder.with_name("killed")
    write_card = export_hf.write_card

    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(export_hf, "write_card", stopped)
    assert export(checkpoint, output) == 130
    assert not output.exists()
    monkeypatch.setattr(export_hf, "write_card", write_card)
    assert export(checkpoint, output) == 0
    files = [path for path in output.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}


@pytest.mark.parametrize("written", ["private"], indirect=True)
def test_the_card_says_how_the_folder_is_loaded(written, monkeypatch):
    _, folder, _ = written
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "library_name: sentence-transformers\n" in card
    monkeypatch.chdir(folder.parent)
    names = {}
    exec(card.partition("```python\n")[2].partition("```")[0], names)
    assert names["vectors"].shape == (1, 24)


@pytest.mark.parametrize("written", ["private"], indirect=True)
def test_it_is_imported_again_as_the_bert_that_it_is(written, tmp_path):
    checkpoint, folder, layer = written
    again = tmp_path / "again"
    assert main(["import", str(folder), "--languages", "de", "--output", str(again)]) == 0
    back = Encoder.load(again / "checkpoint.pt", again / "data")
    ours = Encoder.load(checkpoint).encode(LINES, "de", layers=layer)
    np.testing.assert_allclose(back.encode(LINES, "de"), ours, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "task", "said"),
    [
        ("--arch tri_bert_tiny", "cdlm", "needs an encoder alone, got a model with a TRILayer"),
        (ODD, "bilingual_mlm", f"`--sentence-layer` must lie in [0, {ALL}], got 6"),
    ],
)
def test_what_has_no_such_mean_is_refused_in_one_line(options, task, said, tmp_path, capsys):
    checkpoint = make_checkpoint(tmp_path / "model.pt", make_data(tmp_path), options, task)
    capsys.readouterr()
    assert export(checkpoint, tmp_path / "out", "--sentence-layer", "6") == 1
    error = capsys.readouterr().err.strip()
    assert said in error and "\n" not in error
    assert not (tmp_path / "out").exists()
