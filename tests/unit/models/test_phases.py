import itertools

import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.phases import (
    LOWER,
    REST,
    UPPER,
    check_succession,
    fingerprint,
    freeze,
    part_of,
    phases,
)
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder


class Model(nn.Module):
    def __init__(self, separate=""):
        super().__init__()
        shape = EncoderShape(4, 8, 16, 2, 12, language_embeddings=True, num_segments=2)
        plan = SharingPlan.parse(separate, 4)
        self.encoder = TriEncoder(shape, {"en": 20, "de": 20}, plan)
        self.auxiliary = nn.ModuleDict({"layers": nn.ModuleDict({"0": nn.Linear(8, 8)})})


# ---- what a phase trains (T5, T6, T8)

FROZEN = {
    "commonality": (LOWER, UPPER),
    "forward": (LOWER,),
    "backward": (UPPER,),
    "language": (),
}


@pytest.mark.parametrize("separate", ["", "emb,2-3"])
@pytest.mark.parametrize("phase", FROZEN)
def test_a_phase_freezes_whole_halves_of_the_layers_and_nothing_else(phase, separate):
    model = Model(separate)
    freeze(model, phase, 4)
    lower, upper = model.encoder.layers[:2], model.encoder.layers[2:]
    expected = {
        id(p)
        for half, name in ((lower, LOWER), (upper, UPPER))
        if name in FROZEN[phase]
        for p in half.parameters()
    }
    frozen = {id(p) for p in model.parameters() if not p.requires_grad}
    assert frozen == expected
    for part in (model.encoder.trilayer, model.encoder.embedding_norm, model.auxiliary):
        assert all(p.requires_grad for p in part.parameters())


@pytest.mark.parametrize(
    ("name", "layers", "part"),
    [
        ("encoder.layers.0.shared.fc1.weight", 2, LOWER),
        ("encoder.layers.1.private.de.qkv.bias", 2, UPPER),
        ("module.encoder.layers.12.shared.out.bias", 24, UPPER),
        ("encoder.trilayer.fc1.weight", 2, REST),
        ("auxiliary.order.layers.0.fc1.weight", 2, REST),
    ],
)
def test_a_parameters_name_says_its_part(name, layers, part):
    assert part_of(name, layers) == part


# ---- which phase follows which

# Algorithm 1: source model -> commonality -> both directions -> combine -> language; without CdLM
# (an ablation) commonality -> language, and any of them may be left out.
ALLOWED = {
    ("init", "commonality"),
    *(("init", "forward"), ("commonality", "forward")),
    *(("init", "backward"), ("commonality", "backward")),
    *(("combined", "language"), ("commonality", "language"), ("init", "language")),
}
KNOWN = ["", "init", "combined", *FROZEN]


@pytest.mark.parametrize(("previous", "phase"), itertools.product(KNOWN, ["", *FROZEN]))
def test_a_phase_starts_from_its_predecessors_or_goes_on_itself(previous, phase):
    if (previous, phase) in ALLOWED or phase in (previous, ""):
        check_succession(phase, previous)
        return
    with pytest.raises(UserError) as refused:
        check_succession(phase, previous)
    before = ", ".join(repr(name) for name in phases[phase].after)
    assert str(refused.value) == (
        f"`--trelm-phase {phase}` must start from a checkpoint of {before}, got one of phase "
        f"{previous or 'none'!r}"
    )


# ---- fingerprints


@pytest.fixture
def state():
    torch.manual_seed(1)
    return {
        "a.weight": torch.randn(3, 4),
        "b.bias": torch.randn(5).to(torch.bfloat16),
        "steps": torch.tensor(7),
        "_extra_state": torch.tensor([1.0]),
    }


def test_a_fingerprint_is_of_weights_and_names_whatever_their_order(state):
    digest = fingerprint(state)
    assert len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    assert fingerprint(dict(reversed(state.items()))) == digest
    assert fingerprint(state | {"_extra_state": torch.tensor([2.0])}) == digest
    assert fingerprint(state | {"x._extra_state": "text"}) == digest
    transposed = state | {"a.weight": state["a.weight"].t().contiguous().t()}
    assert fingerprint(transposed) == digest  # the same numbers, laid out otherwise
    renamed = {name.replace("a.weight", "a.wait"): value for name, value in state.items()}
    assert sorted(renamed)[1] == "a.wait" and fingerprint(renamed) != digest  # in the same place


@pytest.mark.parametrize("name", ["a.weight", "b.bias", "steps"])
def test_one_other_bit_of_any_weight_is_another_fingerprint(state, name):
    changed = state[name].clone()
    changed.view(-1).view(torch.uint8)[-1] ^= 1
    assert fingerprint(state | {name: changed}) != fingerprint(state)
