import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.batch import Examples
from fairseq_xling.papers.transfer.structures.data import ModelSettings, Reader
from fairseq_xling.papers.transfer.structures.features import Tables, VectorFiles
from fairseq_xling.papers.transfer.structures.training import (
    Description,
    Trained,
    read_model,
    write_model,
)
from tests.unit.papers.transfer.structures.planted import (
    two_clauses,
    vectors_of,
    write_jsonl,
    write_vec,
)

CHOSEN = ("relation", "word", "pos", "entity")  # not in the order of the alphabet


@pytest.fixture
def made(tmp_path):
    """A file, its words and a model with random weights."""
    rng = np.random.default_rng(1)
    path = write_jsonl(tmp_path / "x.jsonl", [two_clauses(rng, 1) for _ in range(5)])
    file = Reader("relations").read("en", path)
    source = VectorFiles({"en": write_vec(tmp_path / "en.vec", vectors_of(1))})
    words = source.vectors([one.words for one in file.sentences], "en")
    tables = Tables.of(file.sentences, CHOSEN)
    about = Description(
        "relations", CHOSEN, ("NONE", "A", "B", "C"), tables.names, words.width,
        ModelSettings(width=20), source.about(), {},
    )  # fmt: skip
    torch.manual_seed(3)
    network = about.make().eval()
    return file, words, Trained(about, network)


def test_a_model_read_from_its_file_predicts_as_the_one_that_was_written(made, tmp_path):
    file, words, trained = made
    write_model(tmp_path / "m", trained)
    again = read_model(tmp_path / "m", torch.device("cpu"))
    logits = [
        one.network(
            Examples(file.sentences, file.candidates, [words], one.about.tables, []).batch(range(5))
        )
        for one in (trained, again)
    ]
    assert torch.equal(*logits)
    assert again.predict(file, words) == trained.predict(file, words)


def test_a_damaged_description_or_other_weights_are_one_line(made, tmp_path):
    path = tmp_path / "m"
    write_model(path, made[2])
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["fairseq_xling.structures"])

    def refused(message, arrays=arrays, **changes):
        text = json.dumps({**about, **changes})
        save_file(arrays, path, {"fairseq_xling.structures": text})
        with pytest.raises(UserError, match=message):
            read_model(path, torch.device("cpu"))

    refused("unknown task 'x'", task="x")
    refused("its description is damaged", labels=["A", "NONE", "B", "C"])
    refused("its description is damaged", features=["word"])
    refused("its description is damaged", model={"width": "wide"})
    refused("its weights do not fit its description", model={**about["model"], "width": 10**9})
    refused("its weights do not fit its description", model={**about["model"], "layers": 10**9})
    refused("its weights do not fit its description", model={**about["model"], "width": 21})
    broken = {**arrays, "classifier.0.bias": np.full(200, np.nan, dtype=np.float32)}
    refused("its weights must be finite", broken)
