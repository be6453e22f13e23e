"""A folder with a TRILayer computes as the model did, in a process without this project."""

import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from fairseq_xling.cli import main
from fairseq_xling.data.folder import MASK, PAD, SPECIALS
from fairseq_xling.interop.encoder import Encoder
from tests.exported_models import make_checkpoint, make_data

ODD = (
    "--arch tri_bert_tiny --encoder-layers 6 --encoder-embed-dim 24 --encoder-ffn-embed-dim 20 "
    "--encoder-attention-heads 3 --max-positions 77"
)
SHAPES = {
    "bert head": "--num-segments 1",
    "private, linear, copies": "--separate emb,1-2 --lm-head linear --num-segments 2 "
    "--copy-embeddings --no-language-embeddings",
    "relu": "--lm-head bert --activation-fn relu",
    "private softmax, slots": "--separate softmax,6 --num-segments 0 --emission ctc",
}
# Reads {folder}/batch.safetensors, writes {folder}/found.safetensors.
SCRIPT = """
import sys

class Refused:
    def find_spec(self, name, *others):
        if name.split(".")[0] in ("fairseq_xling", "fairseq"):
            raise ImportError(name)

sys.meta_path.insert(0, Refused())
try:
    import fairseq_xling
except ImportError:
    pass
else:
    sys.exit("fairseq_xling can be imported")

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForMaskedLM

folder, out = sys.argv[1:]
inputs = load_file(f"{out}/batch.safetensors")
found = {}
with torch.no_grad():
    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    states = model(**inputs, output_hidden_states=True).hidden_states
    whole, info = AutoModelForMaskedLM.from_pretrained(
        folder, trust_remote_code=True, output_loading_info=True
    )
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    logits = whole.eval()(**inputs).logits
save_file({"states": torch.stack(states), "logits": logits}, f"{out}/found.safetensors")
card = open(f"{folder}/README.md", encoding="utf-8").read()
exec(card.partition("```python")[2].partition("```")[0], names := {})
names["model"](**names["tokenizer"](["dog cat", "dog"], return_tensors="pt", padding=True))
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("remote"))


def export(checkpoint, folder):
    options = ["--output", str(folder), "--format", "hf", "--language", "de"]
    return main(["export", str(checkpoint), *options])


@torch.no_grad()
@pytest.mark.parametrize(
    "shape",
    [
        "private, linear, copies",
        pytest.param("bert head", marks=pytest.mark.slow),
        pytest.param("relu", marks=pytest.mark.slow),
        pytest.param("private softmax, slots", marks=pytest.mark.slow),
    ],
)
def test_states_and_logits_are_those_of_the_model(shape, data, tmp_path):
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, f"{ODD} {SHAPES[shape]}", "cdlm")
    assert export(checkpoint, tmp_path / "out") == 0
    module = Encoder.load(checkpoint).model.encoder
    rows = len(module.tokens.select("de").weight)
    tokens = torch.randint(SPECIALS, rows, (3, 9), generator=torch.Generator().manual_seed(1))
    padding = torch.arange(9) >= torch.tensor([9, 6, 2])[:, None]
    tokens[:, 1] = MASK
    tokens = tokens.masked_fill(padding, PAD)
    batch = {"input_ids": tokens, "attention_mask": (~padding).long()}
    save_file(batch, tmp_path / "batch.safetensors")
    src = {
        "tokens": tokens,
        "positions": torch.arange(9).expand(3, 9),
        "langs": torch.ones_like(tokens),
        "padding_mask": padding,
    }
    states = torch.stack(module.states(src, ("de", "de")))
    logits = module.logits(states[-1], ("de", "de"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    line = [sys.executable, script, tmp_path / "out", tmp_path]
    env = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules")}
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=env, input="")
    assert done.returncode == 0, done.stderr
    # Nobody is asked for permission that was given, nor told of weights that are as they should be.
    assert not done.stdout and "UNEXPECTED" not in done.stderr, done.stdout + done.stderr
    found, real = load_file(tmp_path / "found.safetensors"), ~padding
    for one, other in (
        (found["states"][:, real], states[:, real]),
        (found["logits"][real], logits[real]),
    ):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
