"""Modules: what a loss may move, what they learn from, and what they show."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import source_side
from fairseq_xling.papers.clcr.modules import PairStates, Sizes, modules
from fairseq_xling.papers.clcr.modules.extract import partner_of_source, pivot_masks
from fairseq_xling.papers.clcr.modules.order import key_points, key_points_of
from tests.toy_clcr import DIM, toy

SETTINGS = {
    "transform": {"transform": "residual", "hidden": 0, "score": "transformed", "norm": "l2"},
    "extract": {"delta": 0.2, "hidden": 0, "confident": True, "rates": None},
    "order": {"head": "abs", "positions": 0, "table": True},
}


def copying(model):
    """An extractor with its own copies of the encoders of ``model``."""
    sides = tuple(model.config["encoders"][lang] for lang in model.pair)
    sizes = Sizes(tuple(e.width for e in model.encoders), model.positions, sides)
    module = modules["extract"]({**SETTINGS["extract"], "encoder": "finetune"}, sizes)
    module.begin([], model.encoders)
    return module


def annealing(beta=0.01, phases="transform,lm1,lm2"):
    return SimpleNamespace(anneal_beta=beta, anneal_phases=phases)


def make(name, widths=(6, 8)):
    torch.manual_seed(0)
    module = modules[name](SETTINGS[name], Sizes(widths, 12))
    if name == "transform":  # begins as zero, where all tokens are the same
        module.for_training(annealing(), "transform")
        for matching in (module.forth, module.back):
            torch.nn.init.eye_(matching.transform.A.weight)
    return module


def batch(widths=(6, 8), pairs=3):
    generator = torch.Generator().manual_seed(0)
    r1 = torch.randn(pairs, 5, widths[0], generator=generator).requires_grad_()
    r2 = torch.randn(pairs, 6, widths[1], generator=generator).requires_grad_()
    masks = torch.ones(pairs, 5, dtype=torch.bool), torch.ones(pairs, 6, dtype=torch.bool)
    for mask in masks:
        mask[:, 0] = mask[:, -1] = False
    partner = torch.full((pairs, 6), -1)
    partner[0, 2], partner[0, 3], partner[0, 4], partner[1, 1] = 3, 1, 2, 1
    partner[:, 0] = 0  # as <s> has it, which is no pivot
    space = torch.randn(pairs, 5, widths[1], generator=generator)
    return PairStates((r1, r2), masks, partner, space)


def figures(module, given):
    """What a batch shows in the log."""
    sums = {name: float(value) for name, value in module(given).sums.items()}
    return module.scores(sums, ("en", "de"))


def test_a_target_is_a_constant_so_that_no_encoder_moves_towards_what_it_is_compared_with():
    module, given = make("transform"), batch()
    loss = module(given)
    r1, r2 = given.states
    (forth,) = torch.autograd.grad(loss.total, r1, retain_graph=True)
    assert forth.abs().sum() > 0
    # D(T12(s1) vs s2) alone does not pull at s2: its gradient is all of the other direction's.
    other = module.back(r2, given.masks[1], r1.detach(), given.masks[0], module.tau)
    torch.testing.assert_close(
        torch.autograd.grad(loss.total, r2)[0], torch.autograd.grad(other.distance.sum(), r2)[0]
    )


def test_validation_shows_the_distance_without_the_help_of_mixtures():
    module, given = make("transform"), batch()
    soft = module(given).sums
    assert "hard1" not in soft
    shown = figures(module.eval(), given)
    assert shown["hard_en_de"] > shown["distance_en_de"]
    module.at_update(10**9)
    annealed = figures(module, given)
    assert annealed["hard_en_de"] == pytest.approx(shown["hard_en_de"], rel=1e-5)
    assert annealed["hard_en_de"] == pytest.approx(annealed["distance_en_de"], rel=1e-4)
    # One figure, by which checkpoints compare whatever the temperature was.
    assert annealed["hard"] == pytest.approx(shown["hard"], rel=1e-5)
    assert shown["hard"] == pytest.approx((shown["hard_en_de"] + shown["hard_de_en"]) / 2)


def test_the_means_are_those_of_the_content_of_the_first_batches():
    module, one, other = make("transform"), batch(pairs=3), batch(pairs=2)
    module.begin([], [])
    assert not module.forth.source_mean.any()
    with torch.no_grad():
        module.begin([one, other], [])
    for side, matching in enumerate((module.forth, module.back)):
        rows = [b.states[side][b.masks[side]].detach() for b in (one, other)]
        torch.testing.assert_close(matching.source_mean, torch.cat(rows).mean(0))
    assert torch.equal(module.forth.target_mean, module.back.source_mean)
    assert torch.equal(module.back.target_mean, module.forth.source_mean)


def test_annealing_counts_the_updates_of_all_trainings_and_survives_a_checkpoint():
    module = make("transform")
    assert module.tau == 1
    module.at_update(1000)
    assert module.tau == pytest.approx(1 / 11)
    again = make("transform")
    again.load_state_dict(module.state_dict())
    assert again.tau == module.tau  # resumed
    again.go_on()  # the step that is named was done, too
    assert again.tau == pytest.approx(1 / 11.01)
    again.at_update(499)
    assert again.tau == pytest.approx(1 / 16)


def test_a_phase_that_is_not_annealed_has_temperature_1_and_does_not_count():
    module = make("transform")
    for phase in ("transform", "lm1", "lm2"):
        module.for_training(annealing(phases="lm1"), phase)
        for update in range(10):  # the updates 0 to 9
            module.at_update(update)
            annealed = phase == "lm1"
            assert module.tau == (pytest.approx(1 / (1 + 0.01 * update)) if annealed else 1)
        module.go_on()
    assert int(module.before) == 10  # those of lm1 alone


def test_beta_is_a_setting_of_each_training():
    module = make("transform")
    module.at_update(99)
    module.go_on()
    module.for_training(annealing(beta=0.1), "lm1")
    module.at_update(0)
    assert module.tau == pytest.approx(1 / 11)


@pytest.mark.parametrize("text", ["", "lm1,lm1", "lm3"])
def test_phases_to_anneal_that_do_not_exist_are_refused(text):
    with pytest.raises(UserError, match="`--anneal-phases` must name different ones of") as error:
        make("transform").for_training(annealing(phases=text), "lm1")
    assert str(error.value).endswith(f"got {text!r}")


@pytest.mark.parametrize("pairs", [1, 4, 64])
def test_a_transform_that_knows_nothing_is_at_1_whatever_the_batch(pairs):
    torch.manual_seed(0)
    module = modules["transform"](SETTINGS["transform"], Sizes((6, 8), 12)).eval()  # T is 0
    generator = torch.Generator().manual_seed(0)
    masks = (torch.ones(pairs, 4, dtype=torch.bool),) * 2
    sums = {}
    for _ in range(1024 // pairs):
        states = [torch.randn(pairs, 4, width, generator=generator) for width in (6, 8)]
        for name, value in module(PairStates(tuple(states), masks)).sums.items():
            sums[name] = sums.get(name, 0.0) + float(value)
    shown = module.scores(sums, ("en", "de"))
    for way in ("en_de", "de_en"):
        assert shown[f"relative_{way}"] == pytest.approx(1, abs=0.01)


def test_a_collapse_would_show_in_the_spread():
    module, given = make("transform"), batch()
    shown = figures(module, given)
    assert shown["spread_en"] > 1 and shown["relative_en_de"] > 0
    flat = PairStates((torch.ones_like(given.states[0]), given.states[1]), given.masks)
    assert figures(module, flat)["spread_en"] == 0


def test_labels_of_either_side_come_from_the_pivots_and_never_from_special_symbols():
    given = batch()
    source, target = pivot_masks(given)
    assert source.nonzero().tolist() == [[0, 1], [0, 2], [0, 3], [1, 1]]
    assert target.nonzero().tolist() == [[0, 2], [0, 3], [0, 4], [1, 1]]
    assert partner_of_source(given)[0].tolist() == [-1, 3, 4, 2, -1]


def test_an_extractor_with_its_own_encoders_starts_as_the_aligned_ones_and_reads_no_others():
    model, given = toy().model, batch((DIM, DIM))
    module = copying(model)
    for copy, encoder in zip(module.encoders, model.encoders, strict=True):
        for name, weight in encoder.state_dict().items():
            assert torch.equal(copy.state_dict()[name], weight)
            assert copy.state_dict()[name].data_ptr() != weight.data_ptr()
    sides = [source_side(torch.full((3, n), 7), torch.full((3,), n), lang=0) for n in (5, 6)]
    given = replace(given, sources=tuple(sides))
    module(given).total.backward()
    assert all(state.grad is None for state in given.states)
    for copy in module.encoders:
        assert copy.encoder.tokens.shared.weight.grad.abs().sum() > 0
    torch.testing.assert_close(module.read_pair(given)[1], model.encoders[1](sides[1]))


def test_the_gold_position_of_a_key_point_is_the_rank_of_its_partner():
    given = batch()
    states, positions, padding = key_points(given.space, partner_of_source(given))
    assert positions.tolist() == [[1, 2, 0], [0, -1, -1], [-1, -1, -1]]
    assert padding.tolist() == [[False] * 3, [False, True, True], [True] * 3]
    assert torch.equal(states[0], given.space[0, 1:4])


def test_a_head_of_the_second_side_learns_what_one_of_the_first_learns_from_swapped_sides():
    given = batch()
    (r1, r2), (mask1, mask2) = given.states, given.masks
    swapped = PairStates((r2, r1), (mask2, mask1), partner_of_source(given), space=r2)
    losses, heads = [], []
    for side, one in (("second", given), ("first", swapped)):
        torch.manual_seed(0)
        settings = {**SETTINGS["order"], "side": side}
        heads.append(modules["order"](settings, Sizes((6, 8), 12)).eval())
        losses.append(heads[-1](one))
    assert [head.side for head in heads] == [1, 0]
    totals = [loss.total.item() for loss in losses]
    assert totals[0] == totals[1] > 0
    assert int(losses[0].size) == 3  # the sentence with three pivots
    states, positions, padding = key_points_of(given, 1)
    assert torch.equal(states[0], r2[0, 2:5])
    assert positions.tolist()[0] == [2, 0, 1] and padding.tolist()[1] == [False, True, True]


@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_module_logs_the_same_names_and_has_a_finite_gradient_without_any_content(name):
    module, given = make(name), batch()
    nothing = PairStates(
        given.states,
        tuple(torch.zeros_like(mask) for mask in given.masks),
        torch.full_like(given.partner, -1),
        given.space,
    )
    usual, empty = module(given), module(nothing)
    assert usual.sums.keys() == empty.sums.keys()
    assert int(empty.size) == 0 and float(empty.total.detach()) == 0
    empty.total.backward()
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    assert all(torch.isfinite(g).all() for g in gradients)
    shown = module.scores(dict.fromkeys(usual.sums, 0.0), ("en", "de"))
    full = module.scores({k: float(v) for k, v in usual.sums.items()}, ("en", "de"))
    assert shown.keys() == full.keys()


@pytest.mark.parametrize(
    ("key", "phase", "moves"),
    [
        ("transform", "transform", {"parts.transform"}),
        ("transform", "lm1", {"parts.transform", "encoders.0"}),
        ("transform", "lm2", {"parts.transform", "encoders.1"}),
        ("extract", "transform", {"parts.extract"}),
        ("order_rel", "transform", {"parts.order_rel"}),
    ],
)
def test_each_phase_gives_the_optimiser_its_parts_and_leaves_the_rest_in_evaluation(
    key, phase, moves
):
    model = toy().model
    model.train_only(key, phase)
    model.train()
    trained = {".".join(n.split(".")[:2]) for n, p in model.named_parameters() if p.requires_grad}
    assert trained == moves
    training = {
        ".".join(n.split(".")[:2]) for n, m in model.named_modules() if m.training and "." in n
    }
    assert training == moves
