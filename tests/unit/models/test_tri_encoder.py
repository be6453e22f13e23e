"""The TRI models of fairseq: presets, phases, and checkpoints of other phases."""

import io

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.encoder import SeparableEncoder
from fairseq_xling.models.identity import read_identity
from fairseq_xling.models.phases import fingerprint
from fairseq_xling.models.tri_encoder import TriTransformer, TriTransformerConfig
from fairseq_xling.models.trilayer import TriEncoder

SMALL = {
    **{"encoder_layers": 2, "encoder_embed_dim": 8, "encoder_ffn_embed_dim": 16},
    **{"encoder_attention_heads": 2, "max_positions": 12, "language_embeddings": True},
}


@pytest.fixture
def make_model(make_task):
    """``make_model(phase="forward", auxiliary="order")``, random but for the seed."""

    def make(phase="", seed=1, **changes) -> TriTransformer:
        task = make_task()
        task.phase = phase
        torch.manual_seed(seed)
        return TriTransformer.build_model(TriTransformerConfig(**SMALL | changes), task)

    return make


def saved(model):
    """The model's state through a file, read as plain data only."""
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_trilayer_without_positions_is_refused(make_model):
    with pytest.raises(SystemExit, match="--no-token-positional-embeddings` leaves a TRILayer"):
        make_model(no_token_positional_embeddings=True)
    model = make_model(no_token_positional_embeddings=True, no_trilayer=True)
    assert not any("positions" in name for name in model.state_dict())


# ---- sizes


def test_the_trilayer_can_be_left_out_and_is_one_layer(make_model):
    with_it, without = make_model(), make_model(no_trilayer=True)
    assert type(with_it.encoder) is TriEncoder and with_it.reorders
    assert type(without.encoder) is SeparableEncoder and not without.reorders
    names = {name for name, _ in with_it.named_parameters()}
    extra = names - {name for name, _ in without.named_parameters()}
    assert {name.removeprefix("encoder.trilayer.") for name in extra} == {
        name for name, _ in with_it.encoder.layers[0].shared.named_parameters()
    }


def test_an_odd_number_of_layers_ends_in_one_line(make_model):
    with pytest.raises(
        SystemExit, match=r"`--encoder-layers` must be even with a TRILayer, got 3$"
    ):
        make_model(encoder_layers=3)
    assert make_model(encoder_layers=3, no_trilayer=True).encoder.shape.layers == 3


def test_a_head_that_reads_the_middle_needs_a_trilayer(make_model):
    with pytest.raises(SystemExit, match=r"`--auxiliary` order needs a model with a TRILayer$"):
        make_model(auxiliary="order", no_trilayer=True)
    assert list(make_model(auxiliary="nsp", no_trilayer=True).auxiliary) == ["nsp"]


# ---- phases


def test_a_phase_freezes_its_half_when_the_model_is_built(make_model):
    model = make_model("forward", auxiliary="order", encoder_layers=4)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {
        name
        for name, _ in model.named_parameters()
        if name.startswith(("encoder.layers.0.", "encoder.layers.1."))
    }
    assert all(p.requires_grad for p in make_model().parameters())


def test_a_model_says_which_phase_it_is_in_and_what_it_began_with(make_model):
    start = make_model("commonality")
    assert (start.identity["phase"], start.identity["parent"]) == ("commonality", "")
    forward, backward = make_model("forward", seed=2), make_model("backward", seed=3)
    for model in (forward, backward):
        model.load_state_dict(saved(start))
    digest = fingerprint(start.state_dict())
    assert forward.identity["parent"] == backward.identity["parent"] == digest
    assert read_identity(saved(forward)) == forward.identity
    other = make_model("forward")
    other.load_state_dict(saved(make_model("commonality", seed=9)))
    assert other.identity["parent"] != digest


def test_a_phase_that_goes_on_keeps_what_it_began_with(make_model):
    forward = make_model("forward")
    forward.load_state_dict(saved(make_model("commonality")))
    parent = forward.identity["parent"]
    torch.nn.init.normal_(forward.encoder.trilayer.fc1.weight)
    again = make_model("forward", seed=5)
    again.load_state_dict(saved(forward))
    assert len(parent) == 64 and again.identity["parent"] == parent
    for name, value in saved(forward).items():
        assert torch.equal(again.state_dict()[name], value), name


def test_a_checkpoint_of_the_wrong_phase_is_refused_in_one_line(make_model):
    with pytest.raises(SystemExit, match=r"must start from .* 'init', got one of phase 'none'$"):
        make_model("commonality").load_state_dict(saved(make_model()))


def test_a_model_without_a_phase_reads_the_checkpoint_of_any(make_model):
    model = make_model(seed=2)
    model.load_state_dict(saved(make_model("forward")))
    assert model.identity["phase"] == "" and len(model.identity["parent"]) == 64


def test_another_vocabulary_is_refused_in_every_phase(make_model, make_task):
    task = make_task(en=30, fr=30)
    task.phase = "forward"
    other = TriTransformer.build_model(TriTransformerConfig(**SMALL), task)
    with pytest.raises(SystemExit, match=r"trained with languages \['en', 'de'\], this model has"):
        other.load_state_dict(saved(make_model("commonality")))


# ---- heads that come and go between phases


def test_heads_may_be_added_and_left_out_when_a_phase_begins(make_model):
    start = make_model("commonality", auxiliary="nsp")
    forward = make_model("forward", seed=2, auxiliary="order,nsp")
    fresh = {n: p.clone() for n, p in forward.auxiliary["order"].named_parameters()}
    forward.load_state_dict(saved(start))
    assert list(forward.auxiliary) == ["order", "nsp"]
    for name, parameter in forward.auxiliary["order"].named_parameters():
        assert torch.equal(parameter, fresh[name]), name  # begins as it was initialised
    for name, parameter in forward.auxiliary["nsp"].named_parameters():
        assert torch.equal(parameter, start.auxiliary["nsp"].get_parameter(name)), name
    for name, parameter in forward.encoder.named_parameters():
        assert torch.equal(parameter, start.encoder.get_parameter(name)), name


@pytest.mark.parametrize(("before", "now"), [("", "order"), ("order", "")])
def test_heads_may_not_change_within_a_phase(make_model, before, now):
    state = saved(make_model("forward", auxiliary=before))
    with pytest.raises(SystemExit, match=r"does not fit this model; is it of another --arch or"):
        make_model("forward", auxiliary=now).load_state_dict(state)


def test_a_missing_tensor_that_is_no_heads_is_still_refused(make_model):
    state = saved(make_model("commonality"))
    del state["encoder.trilayer.fc1.bias"]
    with pytest.raises(SystemExit, match=r"does not fit .*Missing key.* \"encoder\.trilayer\.fc1"):
        make_model("forward").load_state_dict(state)


def row_of_translation():
    """``net_input`` of one row of CdLM, its order turned round."""
    tokens = torch.tensor([[0, 9, 8, 2]])
    side = {"positions": torch.arange(4)[None], "langs": torch.zeros_like(tokens)}
    predict = torch.tensor([[False, True, True, False]])
    return {
        "src": {"tokens": tokens, **side},
        "tgt": {"tokens": tokens.flip(1), **side, "langs": side["langs"] + 1, "predict": predict},
        "order": torch.tensor([[3, 2, 1, 0]]),
        "extra": {"reordered": torch.ones(1, 1)},
    }


@pytest.mark.parametrize("glancing", [0.0, 1.0])
def test_a_criterion_reads_states_below_and_above_the_trilayer(glancing, make_model):
    model, given = make_model(dropout=0.0, attention_dropout=0.0), row_of_translation()
    model.glancing = glancing
    found = model(**given, layers=(1, 3)).states
    lower, upper = model.encoder.halves(given["src"], given["tgt"], given["order"])
    assert torch.equal(found[1], lower[1][:, :4])  # without the null state
    assert found[3].shape == upper[1].shape == (1, 4, 8)
    if not glancing:  # which shows words, from the TRILayer on
        assert torch.equal(found[3], upper[1])


def test_a_criterion_cannot_read_states_of_slots(make_model):
    model = make_model(emission="ctc")
    with pytest.raises(UserError, match="needs an `--emission` with a word at each slot, got ctc"):
        model(**row_of_translation(), layers=(0,))
