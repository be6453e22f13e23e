"""The sharing ablations A1 and A6-A10 of "Emerging Cross-lingual Structure", and the encoder."""

import itertools
import re

import pytest
import torch

from fairseq_xling.models.encoder import (
    EncoderShape,
    SeparableEncoder,
    count_parameters,
    parameter_table,
)
from fairseq_xling.models.sharing import SharingPlan

EN, DE = ("en", "en"), ("de", "de")


# ---- exact parameter counts of the paper's model: 8 layers, 12 heads, 768 wide

D, POSITIONS, LAYER = 768, 256, 7_087_872
V_EN, V_DE, V_UNION = 411, 322, 600


def base(separate="", **sizes):
    shape = EncoderShape(8, D, 4 * D, 12, POSITIONS)
    with torch.device("meta"):
        encoder = SeparableEncoder(shape, sizes, SharingPlan.parse(separate, 8))
    counted = sum(parameter.numel() for parameter in encoder.parameters())
    assert sum(count_parameters(encoder).values()) == counted
    return counted


def test_parameters_are_as_many_as_the_specification_says():
    joint, emb = base(en=V_UNION, de=V_UNION), base("emb", en=V_EN, de=V_DE)
    assert joint == V_UNION * D + POSITIONS * D + 2 * D + 8 * LAYER + V_UNION
    assert emb == joint + (V_EN + V_DE - V_UNION) * (D + 1) + POSITIONS * D
    for layers, more in (("1-3", 21_263_616), ("1-6", 42_527_232)):
        assert base(f"emb,{layers}", en=V_EN, de=V_DE) == emb + more  # A7, A8
        assert base(layers, en=V_UNION, de=V_UNION) == joint + more  # A9, A10
    three = base("emb,1-3", en=V_EN, de=V_DE, zh=V_UNION)
    more = V_UNION * (D + 1) + POSITIONS * D + 3 * LAYER
    assert three == base("emb,1-3", en=V_EN, de=V_DE) + more
    # Private tokens, one softmax: two tables and the output's. Private softmax: the reverse.
    assert base("tokens", en=V_UNION, de=V_UNION) == joint + 2 * V_UNION * D
    assert base("softmax", en=V_UNION, de=V_UNION) == joint + V_UNION * (2 * D + 1)


@pytest.mark.parametrize("separate", ["", "emb,2"])
def test_without_positions_states_move_with_their_words(make_encoder, make_src, separate):
    moved = [0, 4, 2, 1, 3]
    row = torch.tensor([3, 7, 9, 5, 11])
    first, second = make_src(row.tolist()), make_src(row[moved].tolist())
    blind, seeing = (make_encoder(separate, token_positions=which) for which in (False, True))
    for states, others in zip(blind.states(first, EN), blind.states(second, EN), strict=True):
        torch.testing.assert_close(states[:, moved], others, atol=1e-5, rtol=1e-5)
    ours, theirs = (seeing.states(src, EN)[-1] for src in (first, second))
    assert (ours[:, moved] - theirs).abs().max() > 0.1
    tables = 2 if separate else 1
    counts = (sum(count_parameters(encoder).values()) for encoder in (seeing, blind))
    assert next(counts) - next(counts) == tables * 12 * 16
    assert "position" in parameter_table(seeing) and "position" not in parameter_table(blind)


# ---- which modules are whose

PARTS = ["tokens", "positions", "softmax", "1", "2", "3"]
PLANS = ["", "emb", "1-3", "emb,1-2", "tokens", "softmax", "positions,2", "tokens,positions,3"]


def modules_of(encoder, lang):
    layers = {str(n): slot.select(lang) for n, slot in enumerate(encoder.layers, start=1)}
    embeddings = {name: getattr(encoder, name).select(lang) for name in PARTS[:3]}
    return embeddings | layers


@pytest.mark.parametrize("separate", PLANS)
def test_private_parts_are_different_objects_and_shared_parts_the_same(make_encoder, separate):
    encoder = make_encoder(separate)
    english, german = modules_of(encoder, "en"), modules_of(encoder, "de")
    owned = {lang: set(map(id, ps)) for lang, ps in encoder.private_parameters().items()}
    assert owned["en"].isdisjoint(owned["de"])
    for part in PARTS:
        private = part in {*encoder.plan.parts, *map(str, encoder.plan.layers)}
        assert (english[part] is not german[part]) == private
        ours, theirs = (set(map(id, m[part].parameters())) for m in (english, german))
        assert ours and (ours.isdisjoint(theirs) if private else ours == theirs)
        assert (ours <= owned["en"]) == (theirs <= owned["de"]) == private
        assert private or ours.isdisjoint(owned["en"] | owned["de"])


def output_table(encoder, lang):
    """The table that logits are made with, found by watching the head."""
    seen = []
    handle = encoder.softmax.select(lang).register_forward_hook(
        lambda module, inputs, output: seen.append(inputs[1])
    )
    encoder.logits(torch.zeros(1, 16), (lang, lang))
    handle.remove()
    return seen[0]


@pytest.mark.parametrize(
    ("separate", "tied"), [("", True), ("emb", True), ("1", True), ("tokens", False)]
)
def test_output_and_input_are_tied_where_the_plan_treats_them_alike(make_encoder, separate, tied):
    encoder = make_encoder(separate)
    again = make_encoder(separate)
    again.load_state_dict(encoder.state_dict())  # and still after a checkpoint
    for model, lang in itertools.product((encoder, again), ("en", "de")):
        assert (output_table(model, lang) is model.tokens.select(lang).weight) == tied


def test_an_untied_output_follows_the_softmax(make_encoder):
    shared, private = make_encoder("tokens"), make_encoder("softmax")
    assert output_table(shared, "en") is output_table(shared, "de")
    assert output_table(private, "en") is not output_table(private, "de")
    assert private.tokens.select("en") is private.tokens.select("de")


# ---- what swapping the language does


@pytest.mark.parametrize("separate", ["emb", "2", "tokens", "positions", "softmax"])
def test_another_language_gives_other_outputs_where_a_part_is_private(
    make_encoder, make_src, separate
):
    encoder, src = make_encoder(separate), make_src([0, 7, 8, 2])
    # Biases begin at zero for everybody; training would make them differ.
    torch.nn.init.normal_(encoder.softmax.select("de").bias)
    english, german = (encoder.states(src, pair) for pair in (EN, DE))
    assert torch.equal(english[-1], german[-1]) == (separate == "softmax")
    logits = [encoder.logits(english[-1][0], pair) for pair in (EN, DE)]
    assert torch.equal(*logits) == (separate in ("2", "positions", "tokens"))


def test_private_parts_refuse_a_batch_without_one_pair(make_encoder, make_src):
    with pytest.raises(ValueError, match="a batch must hold one language pair, got a mixed batch"):
        make_encoder("1").states(make_src([0, 7, 2]))


def test_source_and_target_languages_of_a_pair_serve_the_two_ends(make_encoder, make_src):
    encoder, src = make_encoder("emb,1", {"en": 30, "de": 20}), make_src([0, 7, 8, 2])
    crossed = encoder.states(src, ("en", "de"))[-1]
    assert torch.equal(crossed, encoder.states(src, EN)[-1])
    assert encoder.logits(crossed[0], ("en", "de")).shape == (4, 20)


@pytest.mark.parametrize("separate", ["emb,1-2", "2"])
def test_a_step_in_one_language_leaves_the_others_gradients_empty(make_encoder, make_src, separate):
    encoder = make_encoder(separate)
    encoder.logits(encoder.states(make_src([0, 7, 8, 2]), EN)[-1][0], EN).square().sum().backward()
    private = encoder.private_parameters()
    assert all(parameter.grad is not None for parameter in private["en"])
    assert private["de"] and all(parameter.grad is None for parameter in private["de"])


# ---- the encoder itself


def test_states_are_those_of_the_embeddings_and_of_every_layer(make_encoder, make_src):
    encoder, src = make_encoder(), make_src([0, 7, 8, 2], [0, 9, 2])
    states = encoder.states(src)
    assert [tuple(state.shape) for state in states] == [(2, 4, 16)] * 4
    tokens, positions = encoder.tokens.select(None), encoder.positions.select(None)
    x = tokens(src["tokens"]) + positions(src["positions"])
    x = torch.nn.functional.layer_norm(x, (16,))  # its weight is 1 and its bias 0 at first
    assert torch.allclose(states[0], x, atol=1e-6)
    assert torch.equal(states[0], encoder.embed(src, None))


def test_language_and_segment_embeddings_are_added_per_token(make_encoder, make_src):
    encoder = make_encoder(language_embeddings=True, num_segments=2)
    src = make_src([0, 7, 8, 2])
    plain = encoder.embed(src, None)
    assert torch.equal(encoder.embed(src | {"segments": torch.zeros(1, 4).long()}, None), plain)
    for name, table in (("langs", "language_table"), ("segments", "segment_table")):
        changed = encoder.embed(src | {name: torch.tensor([[0, 1, 1, 0]])}, None)
        differs = (changed != plain).any(-1)[0].tolist()
        assert differs == [False, True, True, False]
        assert getattr(encoder, table).weight.shape == (2, 16)


def test_weights_begin_as_berts_do(make_encoder):
    encoder = make_encoder("emb", init_std=0.02)
    for name, parameter in encoder.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.2), name
    for lang in ("en", "de"):
        assert (encoder.tokens.select(lang).weight[1] == 0).all()


def test_the_table_of_parameters_adds_up(make_encoder):
    encoder = make_encoder("emb,2")
    counts = count_parameters(encoder)
    assert counts["tokens [de]"] == 30 * 16 and counts["positions [en]"] == 12 * 16
    assert counts["softmax [en]"] == 30 and counts["embedding_norm"] == 32
    layer = sum(p.numel() for p in encoder.layers[0].parameters())
    assert counts["layer 1"] == counts["layer 2 [en]"] == counts["layer 2 [de]"] == layer
    total = sum(parameter.numel() for parameter in encoder.parameters())
    lines = parameter_table(encoder).splitlines()
    assert re.fullmatch(rf"total +{total:,}", lines[-2])
    assert "12 rows" in lines[-1]
