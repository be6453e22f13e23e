import json
import re

import numpy as np
import pytest
import torch

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.trelm.combine import combine, combine_states

LAYERS = 4
SHAPES = {
    "encoder.tokens.shared.weight": (9, 6),
    **{f"encoder.layers.{n}.shared.fc1.weight": (5, 6) for n in range(LAYERS)},
    "encoder.trilayer.fc1.weight": (5, 6),
    "encoder.softmax.shared.bias": (9,),
    "auxiliary.nsp.output.weight": (2, 6),
}
HALVES = {"lower": (0, 1), "upper": (2, 3)}


def layer_names(half):
    return [f"encoder.layers.{n}.shared.fc1.weight" for n in HALVES[half]]


def weights(seed, dtype=torch.float32):
    rng = torch.Generator().manual_seed(seed)
    state = {name: torch.randn(shape, generator=rng).to(dtype) for name, shape in SHAPES.items()}
    return {**state, "encoder.rows": torch.arange(seed, seed + 4)}


def half(path, phase, seed, identity=(), drop=(), dtype=torch.float32, layers=LAYERS):
    """A checkpoint as `fairseq-train --trelm-phase` leaves it, in all that matters here."""
    about = {
        **{"languages": ["en", "de"], "dictionaries": {"en": "1" * 64, "de": "1" * 64}},
        **{"separate": "", "phase": phase, "parent": "abcdefgh1234", **dict(identity)},
    }
    state = {k: v for k, v in weights(seed, dtype).items() if k not in drop}
    state = {k: v for k, v in state.items() if f"layers.{LAYERS - 1}" not in k or layers == LAYERS}
    state["_extra_state"] = torch.tensor(list(json.dumps(about).encode()), dtype=torch.float32)
    directions = {"forward": "en-de", "backward": "de-en"}.get(phase, "")
    checkpoint = {
        "cfg": {
            "task": {"_name": "cdlm", "trelm_phase": phase, "directions": directions},
            "model": {"_name": "tri_bert_tiny", "encoder_layers": layers},
            "checkpoint": {"finetune_from_model": "common.pt"},
        },
        "model": state,
        "optimizer_history": [{"criterion_name": "C", "optimizer_name": "O", "num_updates": 3}],
        "last_optimizer_state": {"state": {}},
    }
    torch.save(checkpoint, path)
    return path


@pytest.fixture
def halves(tmp_path):
    """``halves(forward={...}, backward={...})``: both files, with changes to `half`."""

    def make(forward=(), backward=()):
        return (
            half(tmp_path / "fwd.pt", **{"phase": "forward", "seed": 1, **dict(forward)}),
            half(tmp_path / "bwd.pt", **{"phase": "backward", "seed": 2, **dict(backward)}),
        )

    return make


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_halves_are_bit_equal_and_the_rest_is_the_mean_within_one_ulp(dtype):
    forward, backward = weights(1, dtype), weights(2, dtype)
    combined = combine_states(forward, backward, LAYERS)
    assert combined.keys() == forward.keys()
    assert torch.equal(combined["encoder.rows"], forward["encoder.rows"])  # of integers
    for name in layer_names("upper"):
        assert torch.equal(combined[name], forward[name])
    for name in layer_names("lower"):
        assert torch.equal(combined[name], backward[name])
    for name in (name for name in SHAPES if "layers" not in name):
        found, a, b = combined[name], forward[name], backward[name]
        exact = (a.double().numpy().astype(np.longdouble) + b.double().numpy()) / 2
        ulp = torch.finfo(dtype).eps * np.abs(exact) + torch.finfo(dtype).smallest_normal
        assert found.dtype == dtype
        assert (np.abs(found.double().numpy() - exact) <= ulp).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_model_combined_with_itself_is_itself_and_shares_no_memory(dtype):
    model = weights(3, dtype)
    combined = combine_states(model, model, LAYERS)
    for name, tensor in model.items():
        assert torch.equal(combined[name], tensor)
        assert combined[name].data_ptr() != tensor.data_ptr()


def test_the_file_is_a_checkpoint_of_its_own_phase_before_its_first_update(halves, tmp_path):
    report = combine(*halves(), tmp_path / "combined.pt")
    assert report == (
        f"layers 1-2 of {tmp_path}/bwd.pt, layers 3-4 of {tmp_path}/fwd.pt, the mean of both "
        "elsewhere"
    )
    state = load_plain(tmp_path / "combined.pt")
    identity = json.loads(bytes(map(int, state["model"]["_extra_state"].tolist())))
    assert identity["phase"] == "combined"
    assert identity["languages"] == ["en", "de"]
    task = {"_name": "cdlm", "trelm_phase": "", "directions": "en-de,de-en"}
    assert state["cfg"]["task"] == task
    assert state["cfg"]["checkpoint"] == {"finetune_from_model": None}
    assert state["last_optimizer_state"] is None
    assert state["optimizer_history"][-1]["num_updates"] == 0
    assert set(state["extra_state"]["combined"]["inputs"]) == {"forward", "backward"}
    name = "encoder.trilayer.fc1.weight"
    assert torch.equal(state["model"][name], (weights(1)[name] + weights(2)[name]) / 2)


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (
            {"phase": "backward"},
            {"phase": "forward"},
            "{fwd}: must be a checkpoint of phase 'forward', got one of phase 'backward'; are the",
        ),
        ({}, {"phase": "commonality"}, "{bwd}: must be a checkpoint of phase 'backward', got one"),
        ({"phase": ""}, {}, "{fwd}: must be a checkpoint of phase 'forward', got one of phase"),
        ({}, {"identity": {"parent": "zyx987654"}}, "{both} start from the same weights, got abc"),
        (
            {"identity": {"parent": ""}},
            {"identity": {"parent": ""}},
            "{both} start from the same weights, got unknown and unknown",
        ),
        ({}, {"identity": {"languages": ["en", "fr"]}}, "{both} have the same languages, got en,"),
        (
            {},
            {"identity": {"dictionaries": {"en": "1" * 64, "de": "2" * 64}}},
            "{both} have the same dictionaries, got de:11111111, en:11111111 and de:22222222",
        ),
        ({"identity": {"separate": "tokens"}}, {}, "{both} have the same separate, got 'tokens'"),
        ({"identity": {"heads": 4}}, {}, "{both} have the same heads, got 4 and None"),
        ({}, {"drop": ["auxiliary.nsp.output.weight"]}, "{both} have the same parts, but only"),
        ({"dtype": torch.float16}, {}, "{both} be of the same size and precision, got encoder."),
        ({"layers": 3}, {"layers": 3}, "{fwd}: halves need an even number of layers, got a model"),
    ],
)
def test_halves_that_do_not_belong_together_are_refused(
    halves, tmp_path, forward, backward, message
):
    fwd, bwd = halves(forward, backward)
    names = {"fwd": fwd, "bwd": bwd, "both": f"{fwd} and {bwd}: halves must"}
    with pytest.raises(UserError, match=f"^{re.escape(message.format(**names))}"):
        combine(fwd, bwd, tmp_path / "combined.pt")
    assert not (tmp_path / "combined.pt").exists()


def test_a_failed_write_leaves_the_old_file(halves, tmp_path, monkeypatch):
    output = tmp_path / "combined.pt"
    output.write_bytes(b"old")

    def full(*args):
        raise RuntimeError("disk is full\nand more")

    files = halves()
    monkeypatch.setattr("torch.save", full)
    with pytest.raises(UserError, match=r"could not be written \(disk is full\)"):
        combine(*files, output)
    assert output.read_bytes() == b"old"
