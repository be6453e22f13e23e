import argparse
import io
import math

import numpy as np
import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.sources import Row, Side
from fairseq_xling.models.separable_transformer import (
    SeparableTransformer,
    SeparableTransformerConfig,
)
from fairseq_xling.objectives import objectives
from fairseq_xling.training.criterion import UnifiedLMCriterion

SMALL = {
    **{"encoder_layers": 3, "encoder_embed_dim": 16, "encoder_ffn_embed_dim": 32},
    **{"encoder_attention_heads": 4, "max_positions": 32},
    **{"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3},
}


@pytest.fixture
def make_model(make_task):
    def make(task=None, **changes):
        torch.manual_seed(1)
        cfg = SeparableTransformerConfig(**SMALL | changes)
        return SeparableTransformer.build_model(cfg, task or make_task()).eval()

    return make


@pytest.fixture
def make_batch(options):
    """``make_batch([("mlm", row), ...])``: each row with the masks of its own number."""

    def make(rows, names=("mlm", "tlm"), numbers=None, pair=None):
        vocabulary = Vocabulary({"en": 30, "de": 30}, {"en": 0, "de": 1})
        made = {name: objectives[name](options(mask_prob=0.4), vocabulary) for name in names}
        numbers = list(range(len(rows))) if numbers is None else numbers
        examples = [
            made[name](row, np.random.default_rng(number))
            for number, (name, row) in zip(numbers, rows, strict=True)
        ]
        ids = [names.index(name) for name, _ in rows]
        return collate(examples, ids, numbers, pair)

    return make


def side(length, lang, seed=0):
    words = np.random.default_rng([seed, length]).integers(6, 30, length)
    return Side(np.array([CLS, *words, SEP]), lang)


MIXED = [
    ("mlm", Row(side(9, "en"))),
    ("mlm", Row(side(4, "de"))),
    ("tlm", Row(side(6, "en"), side(7, "de"))),
    ("mlm", Row(side(12, "en"))),
    ("tlm", Row(side(3, "en"), side(2, "de"))),
]


# ---- one loss for all objectives


def test_the_loss_of_a_padded_batch_is_the_sum_of_its_rows_alone(make_model, make_batch, make_task):
    task = make_task(("mlm", "tlm"))
    model, criterion = make_model(task), UnifiedLMCriterion(task)
    together, size, logs = criterion(model, make_batch(MIXED))
    alone = [
        criterion(model, make_batch([row], numbers=[number])) for number, row in enumerate(MIXED)
    ]
    assert together.item() == pytest.approx(sum(loss.item() for loss, _, _ in alone), rel=1e-5)
    assert size == sum(count for _, count, _ in alone) == logs["sample_size"]
    for name in logs:  # and every log of it
        assert float(logs[name]) == pytest.approx(
            sum(float(log[name]) for _, _, log in alone), rel=1e-5
        )


def test_every_loss_is_logged_under_its_objective_and_language(make_model, make_batch, make_task):
    task, batch = make_task(("mlm", "tlm")), make_batch(MIXED)
    _, _, logs = UnifiedLMCriterion(task)(make_model(task), batch)
    tgt, expected = batch["net_input"]["tgt"], {}
    for row, (name, _) in enumerate(MIXED):
        for lang in tgt["langs"][row][tgt["predict"][row]].tolist():
            key = f"{name}_{['en', 'de'][lang]}_count"
            expected[key] = expected.get(key, 0) + 1
    assert len(expected) == 4
    assert {key: int(logs[key]) for key in expected} == expected


def test_a_mixed_batch_costs_what_its_objectives_cost_apart(make_model, make_batch, make_task):
    task = make_task(("mlm", "tlm"), {"tlm": 0.5})
    model, criterion = make_model(task), UnifiedLMCriterion(task)
    together, _, logs = criterion(model, make_batch(MIXED))
    apart = {}
    for name in ("mlm", "tlm"):
        numbers = [n for n, row in enumerate(MIXED) if row[0] == name]
        part = make_batch([MIXED[n] for n in numbers], numbers=numbers)
        apart[name], _, own = criterion(model, part)
        for lang in ("en", "de"):
            for what in ("nll", "count"):
                key = f"{name}_{lang}_{what}"
                assert float(logs[key]) == pytest.approx(float(own[key]), rel=1e-5)
    assert together.item() == pytest.approx(sum(loss.item() for loss in apart.values()), rel=1e-5)
    plain = sum(float(logs[f"tlm_{lang}_nll"]) for lang in ("en", "de"))
    assert apart["tlm"].item() == pytest.approx(0.5 * plain, rel=1e-5)


@pytest.mark.parametrize(("pair", "size"), [(("en", "en"), 30), (("de", "de"), 41)])
def test_a_model_that_knows_nothing_costs_the_logarithm_of_its_vocabulary(
    make_model, make_batch, make_task, pair, size
):
    task = make_task(en=30, de=41)
    model, criterion = make_model(task, separate="emb"), UnifiedLMCriterion(task)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    batch = make_batch([("mlm", Row(side(20, pair[0])))], names=("mlm",), pair=pair)
    loss, count, _ = criterion(model, batch)
    assert loss.item() / count == pytest.approx(math.log(size), rel=1e-6)


def test_logits_come_for_the_predicted_positions_row_by_row(make_model, make_batch):
    model, batch = make_model(), make_batch(MIXED)["net_input"]
    logits = model(**batch).logits
    everywhere = model.encoder.logits(model.encoder.states(batch["src"])[-1].flatten(0, 1))
    expected = everywhere[batch["tgt"]["predict"].flatten()]
    assert torch.allclose(logits, expected, atol=1e-5)


def test_states_of_layers_come_with_the_logits_when_asked_for(make_model, make_batch):
    model, batch = make_model(), make_batch(MIXED)["net_input"]
    expected = model.encoder.states(batch["src"])
    found = model(**batch, layers=(2, 0))
    assert list(found.states) == [2, 0] and not model(**batch).states
    for number, states in found.states.items():
        assert torch.equal(states, expected[number])
    assert torch.equal(found.logits, model(**batch).logits)
    most = len(expected) - 1
    for wrong in (-1, most + 1):
        line = rf"`layers` of the criterion must lie in \[0, {most}\], .* got {wrong}$"
        with pytest.raises(UserError, match=line):
            model(**batch, layers=(wrong,))


def test_a_given_order_is_refused(make_model, make_batch):
    batch = make_batch(MIXED)["net_input"]
    with pytest.raises(ValueError, match="a model without a TRILayer reads its source"):
        make_model()(**batch, order=torch.zeros(1))


# ---- building


def test_bad_sizes_and_plans_end_in_one_line(make_model):
    with pytest.raises(SystemExit, match=r"`--separate` layers must lie in 1-3 .* got '1-9'"):
        make_model(separate="1-9")
    with pytest.raises(SystemExit, match=r"must be a multiple of .* got 15 and 4"):
        make_model(encoder_embed_dim=15)


def test_the_task_is_asked_whether_it_allows_the_plan(make_model, make_task):
    task, asked = make_task(), []
    task.check_plan = asked.append
    make_model(task, separate="emb,1-2")
    assert [str(plan) for plan in asked] == ["tokens,positions,softmax,1-2"]


def test_presets_yield_to_options():
    args = argparse.Namespace(max_positions=99, encoder_ffn_embed_dim=7)
    ARCH_CONFIG_REGISTRY["separable_transformer_small"](args)
    assert (args.encoder_layers, args.encoder_embed_dim, args.lm_head) == (12, 256, "bert")
    assert (args.max_positions, args.encoder_ffn_embed_dim) == (99, 7)


# ---- checkpoints


def reloaded(model, state=None):
    """``model``'s state through a file, read as plain data only."""
    file = io.BytesIO()
    torch.save(model.state_dict() if state is None else state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("separate", ["", "emb,1-2", "tokens"])
def test_a_model_comes_back_from_a_checkpoint_with_its_sharing(make_model, make_batch, separate):
    model = make_model(separate=separate)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    again = make_model(separate=separate)
    again.load_state_dict(reloaded(model))
    batch = make_batch([("mlm", Row(side(9, "en")))], pair=("en", "en"))["net_input"]
    assert torch.equal(model(**batch).logits, again(**batch).logits)
    for part in ("tokens", "positions", "softmax"):
        slots = [getattr(one.encoder, part) for one in (model, again)]
        same = [slot.select("en") is slot.select("de") for slot in slots]
        assert same == [part not in model.encoder.plan.parts] * 2
    private = {lang: len(ps) for lang, ps in again.private_parameters().items()}
    assert private == {lang: len(ps) for lang, ps in model.private_parameters().items()}


@pytest.mark.parametrize(
    ("sizes", "separate", "message"),
    [
        ({"en": 30, "fr": 30}, "", "languages ['en', 'de'], this model has ['en', 'fr']"),
        ({"de": 30, "en": 30}, "", "languages ['en', 'de'], this model has ['de', 'en']"),
        ({"en": 30, "de": 30}, "1", "separate '', this model has '1'"),
        ({"en": 30, "de": 31}, "", "dictionaries de:30000000, en:30000000, this model"),
    ],
)
def test_a_checkpoint_of_other_languages_dictionaries_or_sharing_is_refused(
    make_model, make_task, sizes, separate, message
):
    model, other = make_model(), make_model(make_task(**sizes), separate=separate)
    state = other.state_dict() | reloaded(model)
    with pytest.raises(SystemExit) as caught:
        other.load_state_dict(state, strict=False)
    line = str(caught.value)
    assert "the checkpoint does not fit: " in line and "\n" not in line
    assert f"it was trained with {message}" in line


def test_a_checkpoint_of_another_activation_is_refused_and_without_one_it_has_gelu(make_model):
    relu, gelu = make_model(activation_fn="relu"), make_model()
    assert "activation_fn" not in gelu.identity  # as in checkpoints from before the option
    make_model(activation_fn="relu").load_state_dict(reloaded(relu))
    for model, other, line in (
        (relu, gelu, "with activation_fn 'gelu', this model has 'relu'"),
        (gelu, relu, "with activation_fn 'relu', this model has 'gelu'"),
    ):
        with pytest.raises(SystemExit, match=line):
            model.load_state_dict(reloaded(other))


def test_a_checkpoint_of_another_size_is_refused_in_one_line(make_model):
    with pytest.raises(SystemExit) as caught:
        make_model(encoder_layers=2).load_state_dict(reloaded(make_model()))
    line = str(caught.value)
    assert "does not fit this model; is it of another --arch or size? (" in line
    assert "\n" not in line


def test_the_longest_input_is_the_position_table(make_model):
    assert make_model().max_positions() == 32


def test_a_running_average_of_the_weights_keeps_what_the_model_was_trained_with(make_model):
    """fairseq's --store-ema averages every entry of the state dict, the identity among them."""
    from fairseq.dataclass.configs import EMAConfig
    from fairseq.models.ema import EMA

    model = make_model(separate="emb,1")
    average = EMA(model, EMAConfig(store_ema=True, ema_decay=0.7))
    before = model.encoder.embedding_norm.weight.detach().clone()
    torch.nn.init.constant_(model.encoder.embedding_norm.weight, 3.0)
    for _ in range(50):
        average.step(model)
    averaged = average.get_model()
    assert averaged.encoder.embedding_norm.weight.mean() > before.mean() + 1.9
    assert averaged.identity == model.identity
    model.load_state_dict(averaged.state_dict())  # would refuse another identity


def test_a_task_or_model_of_fairseqs_own_is_refused_in_one_line():
    task = argparse.Namespace(target_dictionary=None)
    with pytest.raises(SystemExit, match=r"`--arch separable_transformer\*` needs a task"):
        SeparableTransformer.build_model(SeparableTransformerConfig(**SMALL), task)
    with pytest.raises(SystemExit, match=r"`--criterion unified_lm` needs a task .* Namespace"):
        UnifiedLMCriterion(task)


def test_named_copies_begin_alike_and_the_rest_as_it_did(make_model, make_task):
    task = make_task(en=30, de=30)
    torch.manual_seed(3)
    usual = make_model(task, separate="emb,1-2").encoder.state_dict()
    torch.manual_seed(3)
    alike = make_model(task, separate="emb,1-2", separate_start="alike").encoder.state_dict()
    for name, tensor in alike.items():
        first = alike[name.replace(".private.de.", ".private.en.")]
        if name.startswith("tokens.private.de"):
            assert not torch.equal(tensor, first)
        elif ".private.de." in name:
            assert torch.equal(tensor, first)
        if ".private.de." not in name or name.startswith("tokens."):
            assert torch.equal(tensor, usual[name])


def test_an_output_of_its_own_begins_alike_as_well(make_model, make_task):
    model = make_model(make_task(en=30, de=30), separate="softmax", separate_start="softmax")
    table = model.encoder.output_tokens
    assert torch.equal(table.select("en").weight, table.select("de").weight)


def test_embeddings_of_tokens_alone_are_frozen_on_request(make_model, make_task):
    model = make_model(make_task(en=30, de=30), separate="tokens", freeze_embeddings=True)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {f"encoder.tokens.private.{lang}.weight" for lang in ("en", "de")}
    assert all(p.requires_grad for p in make_model().parameters())
