import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fitted import Side
from fairseq_xling.models.transfer_encoder import TransferEncoder, train_faster


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def train(model, optimizer, clip):
    """Five clipped steps; their norms of the gradient."""
    generator, norms = torch.Generator().manual_seed(1), []
    for _ in range(5):
        optimizer.zero_grad()
        x, y = torch.randn(8, 3, generator=generator), torch.randn(8, 2, generator=generator)
        (30 * (model(x) - y).square().mean()).backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), clip)))
        optimizer.step()
    return norms


@pytest.mark.parametrize("factor", [25.0, 0.1])
@pytest.mark.parametrize(
    "kind",
    [
        lambda groups: torch.optim.Adam(groups, lr=1e-3),
        lambda groups: torch.optim.SGD(groups, lr=1e-3, momentum=0.9),
    ],
)
@pytest.mark.parametrize("clip", [0.5, 1e9])
def test_steps_and_norms_are_those_of_an_optimiser_with_two_groups(kind, factor, clip):
    ours, theirs = make(), make()
    train_faster(ours[2], factor)
    torch.testing.assert_close(ours[2].weight, theirs[2].weight)
    groups = [
        {"params": theirs[0].parameters()},
        {"params": theirs[2].parameters(), "lr": 1e-3 * factor},
    ]
    norms = train(ours, kind(ours.parameters()), clip)
    assert norms == pytest.approx(train(theirs, kind(groups), clip), rel=1e-4)
    assert max(norms) > 0.5  # else nothing was clipped
    for number in (0, 2):
        torch.testing.assert_close(ours[number].weight, theirs[number].weight)
        torch.testing.assert_close(ours[number].bias, theirs[number].bias)
    assert not torch.allclose(make()[2].weight, ours[2].weight)


def test_what_is_frozen_stays_as_it_is():
    model = make()
    model[2].bias.requires_grad_(False)
    train_faster(model[2], 3.0)
    assert [name for name, _ in model[2].named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(UserError, match="must be above 0, got a ratio of 0"):
        train_faster(make(), 0.0)


class Last(nn.Module):
    """A head that gives the states themselves."""

    def forward(self, states, fields):
        return {"states": states}


@pytest.mark.parametrize("segments", [0, 1, 2])
def test_a_pair_is_read_by_encoders_of_any_number_of_segments(make_encoder, make_src, segments):
    encoder = make_encoder(num_segments=segments)
    src = make_src([3, 7, 4, 8, 4])
    src["segments"] = torch.tensor([[0, 0, 0, 1, 1]])
    seen = {**src, "segments": src["segments"] if segments == 2 else torch.zeros(1, 5).long()}
    model = TransferEncoder(encoder, Last())
    found = model(src, ("en", "en"), {})["states"]
    assert torch.equal(found, encoder.states(seen, ("en", "en"))[-1])


def test_another_language_takes_exactly_its_private_parts(make_encoder, make_src):
    encoder = make_encoder("emb,1")
    model = TransferEncoder(encoder, Last())
    src = {**make_src([3, 7, 4]), "segments": torch.zeros(1, 3).long()}
    before = model(src, ("de", "de"), {})["states"]
    private = {id(p) for group in encoder.private_parameters().values() for p in group}
    english = [p for name, p in encoder.named_parameters() if ".private.en." in name]
    assert english and {id(p) for p in english} <= private
    with torch.no_grad():
        for parameter in english:
            parameter.fill_(7.0)
    assert torch.equal(model(src, ("de", "de"), {})["states"], before)
    assert not torch.equal(model(src, ("en", "en"), {})["states"], before)


def test_what_belongs_to_a_language_or_lies_below_is_frozen(make_encoder):
    model = TransferEncoder(make_encoder("emb,1", layers=3), nn.Linear(16, 2))
    model.freeze(0, False)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert not any(".private." in name or "softmax" in name for name in trained)
    assert any(name.startswith("encoder.layers.1.") for name in trained)
    model.freeze(2, False)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert {name.split(".shared.")[0] for name in trained if name.startswith("encoder")} == {
        "encoder.layers.2"
    }
    model.freeze(0, True)
    assert {name for name, p in model.named_parameters() if p.requires_grad} == {
        "network.weight",
        "network.bias",
    }
    with pytest.raises(UserError, match=r"`--freeze-layers` must lie in \[0, 3\], got 4"):
        model.freeze(4, False)


def test_language_embeddings_are_frozen_and_other_embeddings_are_not(make_encoder):
    encoder = make_encoder(language_embeddings=True, num_segments=2)
    TransferEncoder(encoder, nn.Linear(16, 2)).freeze(0, False)
    assert not encoder.language_table.weight.requires_grad
    assert encoder.tokens.shared.weight.requires_grad
    assert encoder.segment_table.weight.requires_grad


def test_a_checkpoint_with_other_labels_is_refused(make_encoder):
    def make(*tags):
        identity = {"head": "pos", "tags": list(tags)}
        return TransferEncoder(make_encoder(), nn.Linear(16, 2), identity)

    saved = make("NOUN", "VERB").state_dict()
    make("NOUN", "VERB").load_state_dict(saved)
    message = r"it was trained with tags \['NOUN', 'VERB'\], this model has \['VERB', 'NOUN'\]"
    with pytest.raises(SystemExit, match=message):
        make("VERB", "NOUN").load_state_dict(saved)


def test_a_head_reads_the_layer_that_it_is_told_through_layers_of_its_own(make_encoder, make_src):
    """SPEC S6: new layers and a head on the frozen layer i."""
    encoder = make_encoder()
    src = {**make_src([3, 7, 4], [3, 8, 9, 7, 4]), "segments": torch.zeros(2, 5).long()}
    states = encoder.states(src, ("en", "en"))
    for layer in range(4):
        found = TransferEncoder(encoder, Last(), read_layer=layer)(src, ("en", "en"), {})["states"]
        assert torch.equal(found, states[layer])
    model = TransferEncoder(encoder, Last(), read_layer=1, head_layers=2).eval()
    together = model(src, ("en", "en"), {})["states"]
    expected = states[1]
    for layer in model.between:
        expected = layer(expected, ~src["padding_mask"][:, None, None])
    assert torch.equal(together, expected)
    alone = {**make_src([3, 7, 4]), "segments": torch.zeros(1, 3).long()}
    found = model(alone, ("en", "en"), {})["states"]
    torch.testing.assert_close(found, together[:1, :3])


def test_vectors_that_are_zero_give_what_the_head_gives_on_states_alone(make_encoder, make_src):
    encoder = make_encoder().eval()
    src = {**make_src([3, 7, 4], [3, 8, 9, 7, 4]), "segments": torch.zeros(2, 5).long()}
    alone, both = nn.Linear(16, 3), nn.Linear(16 + 2, 3)
    with torch.no_grad():
        both.weight[:, :16] = alone.weight
        both.bias.copy_(alone.bias)

    def head(linear):
        network = Last()
        network.forward = lambda states, fields: {"states": linear(states)}
        return network

    expected = TransferEncoder(encoder, head(alone))(src, ("en", "en"), {})["states"]
    model = TransferEncoder(encoder, head(both), {"vectors": {}})
    zero = {**src, "vectors": torch.zeros(2, 5, 2)}
    torch.testing.assert_close(model(zero, ("en", "en"), {})["states"], expected)
    words = {**src, "vectors": torch.ones(2, 5, 2)}
    assert not torch.allclose(model(words, ("en", "en"), {})["states"], expected)
    assert model.joint and not TransferEncoder(encoder, head(alone)).joint


def test_each_language_is_mapped_by_its_side_after_its_vectors_are_appended(make_encoder, make_src):
    encoder = make_encoder().eval()
    src = {**make_src([3, 7, 4]), "segments": torch.zeros(1, 3).long()}
    src["vectors"] = torch.ones(1, 3, 2)
    sides = {"en": Side(18), "de": Side(18, matrix=torch.randn(18, 5, dtype=torch.float64))}
    model = TransferEncoder(encoder, Last(), sides=sides)
    z = model(src, ("en", "en"), {})["states"]
    assert torch.equal(z[..., :16], encoder.states(src, ("en", "en"))[-1])
    assert torch.equal(z[..., 16:], src["vectors"])
    german = torch.cat([encoder.states(src, ("de", "de"))[-1], src["vectors"]], -1)
    found = model(src, ("de", "de"), {})["states"]
    torch.testing.assert_close(found, german @ sides["de"].matrix.float())


def test_layers_that_no_head_reads_are_frozen_and_its_own_are_not(make_encoder):
    model = TransferEncoder(make_encoder(), nn.Linear(16, 2), read_layer=1, head_layers=1)
    model.freeze(0, False)
    trained = {name.split(".shared.")[0] for name, p in model.named_parameters() if p.requires_grad}
    assert "encoder.layers.0" in trained
    assert not {"encoder.layers.1", "encoder.layers.2"} & trained
    model.freeze(0, True)
    trained = {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {"between", "network"}


def test_layers_to_read_that_are_not_there_are_refused(make_encoder):
    with pytest.raises(UserError, match=r"`--read-layer` must lie in \[0, 3\], got 4"):
        TransferEncoder(make_encoder(), Last(), read_layer=4)
    with pytest.raises(UserError, match="`--head-layers` must be at least 0, got -1"):
        TransferEncoder(make_encoder(), Last(), head_layers=-1)
