"""`xling.Encoder` from folders and into them; its vectors are tested end to end."""

import shutil

import numpy as np
import pytest
import torch

import fairseq_xling as xling
from fairseq_xling.cli import main
from tests.exported_models import LINES, ODD, make_checkpoint, make_data


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    return make_checkpoint(folder / "model.pt", make_data(folder, "joint"), ODD)


@pytest.fixture(scope="module")
def encoder(checkpoint):
    return xling.Encoder.load(checkpoint)


def test_a_folder_of_a_training_an_export_or_an_import_is_a_checkpoint(
    checkpoint, encoder, tmp_path
):
    training, exported, imported = (tmp_path / x for x in ("training", "exported", "imported"))
    training.mkdir()
    with pytest.raises(ValueError, match="no such checkpoint; the folder has none of checkpoint_b"):
        xling.Encoder.load(training)
    shutil.copy(checkpoint, training / "checkpoint_last.pt")
    assert main(["export", str(checkpoint), "--output", str(exported)]) == 0
    encoder.save_pretrained(tmp_path / "hf", "de")
    words = ["import", str(tmp_path / "hf"), "--languages", "de", "--output", str(imported)]
    assert main(words) == 0
    expected = encoder.encode(LINES, "de")
    for folder in (training, exported, imported):
        found = xling.Encoder.from_pretrained(folder)
        assert np.allclose(found.encode(LINES, "de"), expected, atol=1e-5)
    (training / "checkpoint_best.pt").write_text("damaged")  # the best is preferred
    with pytest.raises(ValueError, match=r"checkpoint_best\.pt: "):
        xling.Encoder.load(training)


def test_what_is_saved_is_a_model_of_transformers(encoder, tmp_path):
    transformers = pytest.importorskip("transformers")
    encoder.using("de").save_pretrained(tmp_path / "hf")
    model = transformers.AutoModel.from_pretrained(tmp_path / "hf").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    with torch.no_grad():
        states = model(**tokenizer(LINES[1], return_tensors="pt")).last_hidden_state[0, 1:-1]
    ours = encoder.encode(LINES[1], "de", pooling="none", unknown=True)
    assert np.allclose(states, ours, atol=1e-5)
    with pytest.raises(ValueError, match="`folder` must be a new folder, got "):
        encoder.save_pretrained(tmp_path / "hf", "de")
    with pytest.raises(ValueError, match="unknown language 'fr'"):
        encoder.save_pretrained(tmp_path / "other", "fr")
    assert not (tmp_path / "other").exists()
