"""D: attention matching, its annealing, and what it takes no notice of."""

import math

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.modules.transform import (
    Matching,
    attention,
    norms,
    scores,
    temperature,
    transforms,
)

DIM, LENGTH = 12, 6


def everything(batch, length):
    return torch.ones(batch, length, dtype=torch.bool)


def matching(kind="residual", score="transformed", norm="l2", width_in=DIM, width_out=DIM):
    transform = transforms[kind](width_in, width_out, 16)
    return Matching(transform, scores[score](width_in, width_out), (width_in, width_out), norm)


def drawn(score, norm="l2"):
    """One with weights that are drawn; most are zero at first."""
    torch.manual_seed(0)
    model = matching(score=score, norm=norm)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def test_without_its_hidden_layer_the_residual_transform_is_the_linear_one():
    torch.manual_seed(0)
    residual, linear = (transforms[name](5, 7, 9) for name in ("residual", "linear"))
    with torch.no_grad():
        for parameter in residual.parameters():
            parameter.normal_()
        linear.A.load_state_dict(residual.A.state_dict())
        r = torch.randn(3, 4, 5)
        by_hand = r @ residual.A.weight.T + residual.A.bias
        hidden = (r @ residual.B.weight.T + residual.B.bias).clamp(min=0)
        torch.testing.assert_close(residual(r), by_hand + hidden @ residual.C.weight.T)
        residual.C.weight.zero_()
        assert torch.equal(residual(r), linear(r))


@pytest.mark.parametrize("score", list(scores))
@pytest.mark.parametrize("norm", list(norms))
def test_the_distance_is_that_of_the_formula_token_by_token(score, norm):
    model = drawn(score, norm)
    r1, r2 = torch.randn(1, 3, DIM), torch.randn(1, 4, DIM)
    keys = {"raw": lambda r: r, "keys": lambda r: model.score.key(r)}
    key = keys.get(score, model.transform)

    def against(query, k):
        return math.exp((query @ key(k)).item() / math.sqrt(DIM))

    def weight(query, k):
        of_all = sum(against(other, k) for other in r2[0]) if score == "exclusive" else 1
        return (against(query, k) / of_all) ** (1 / 0.5)  # tau

    total = 0.0
    for query in r2[0]:
        weights = [weight(query, k) for k in r1[0]]
        mixed = sum(w * k for w, k in zip(weights, r1[0], strict=True)) / sum(weights)
        total += torch.linalg.norm(model.transform(mixed) - query, int(norm[1])).item()
    found = model(r1, everything(1, 3), r2, everything(1, 4), tau=0.5)
    assert found.distance.item() == pytest.approx(total / 4, rel=1e-5)


@pytest.mark.parametrize("score", list(scores))
def test_a_batch_of_one_is_the_same_as_a_padded_batch(score):
    model = drawn(score)
    r1, r2 = torch.randn(2, 5, DIM), torch.randn(2, 6, DIM)
    mask1 = torch.arange(5) < torch.tensor([[5], [2]])
    mask2 = torch.arange(6) < torch.tensor([[6], [3]])
    both = model(r1, mask1, r2, mask2)
    alone = model(r1[1:, :2], everything(1, 2), r2[1:, :3], everything(1, 3))
    torch.testing.assert_close(both.distance[1:], alone.distance)
    torch.testing.assert_close(both.entropy[1:], alone.entropy)


@pytest.mark.parametrize("score", list(scores))
def test_a_sentence_without_content_counts_for_nothing_and_has_a_gradient_of_zero(score):
    model = drawn(score)
    r1, r2 = torch.randn(3, 3, DIM, requires_grad=True), torch.randn(3, 3, DIM)
    mask1 = torch.tensor([[True] * 3, [False] * 3, [True] * 3])
    mask2 = torch.tensor([[True, True, False], [True] * 3, [False] * 3])
    found = model(r1, mask1, r2, mask2)
    found.distance.sum().backward()
    assert found.counted.tolist() == [True, False, False] and not found.distance[1:].any()
    assert torch.isfinite(r1.grad).all() and r1.grad[0].any() and not r1.grad[1:].any()


@pytest.mark.parametrize("score", list(scores))
def test_what_all_states_of_a_language_have_in_common_changes_nothing_once_it_is_taken_off(score):
    model = drawn(score)
    r1, r2 = torch.randn(2, 5, DIM), torch.randn(2, 6, DIM)
    masks = everything(2, 5), everything(2, 6)
    before, moved = model(r1, masks[0], r2, masks[1]), model.move(r1)
    source_mean, target_mean = torch.randn(DIM), torch.randn(DIM)
    model.centre(source_mean, target_mean)
    after = model(r1 + source_mean, masks[0], r2 + target_mean, masks[1])
    torch.testing.assert_close(after.distance, before.distance)
    torch.testing.assert_close(model.move(r1 + source_mean), moved + target_mean)


def test_a_token_that_is_near_to_everything_is_the_partner_of_one_where_shares_count():
    queries = math.sqrt(2) * torch.eye(2)[None]
    keys = torch.tensor([[[5.0, 5.0], [0.0, 4.0]]])  # the first near to both
    mask = everything(1, 2)
    chosen = {
        name: attention(scores[name](2, 2)(keys, keys, queries, mask), mask, 0.0)[0].argmax(1)
        for name in ("transformed", "exclusive")
    }
    assert chosen["transformed"].tolist() == [0, 0]
    assert chosen["exclusive"].tolist() == [0, 1]


def test_the_temperature_falls_as_the_paper_has_it_and_the_entropy_with_it():
    assert temperature(1000, 0.01) == pytest.approx(1 / 11)
    assert temperature(10**9, 0.0) == 1.0
    torch.manual_seed(0)
    a = torch.randn(4, 5, 6)
    taus = [temperature(step, 0.01) for step in (0, 100, 1000, 100_000)]
    weights = [attention(a, everything(4, 6), tau) for tau in taus]
    entropies = [float(torch.special.entr(one).sum(2).mean()) for one in weights]
    assert entropies == sorted(entropies, reverse=True)
    assert entropies[0] > 1 and entropies[-1] < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("tau", [1e-8, 1e-38, 0.0])
def test_at_the_limit_attention_chooses_one_key_in_every_precision(dtype, tau):
    torch.manual_seed(0)
    a = 200 * torch.randn(2, 7, 9).to(dtype)
    mask = torch.arange(9) < torch.tensor([[9], [4]])
    weights = attention(a, mask, tau)
    assert torch.isfinite(weights).all()
    chosen = a.float().masked_fill(~mask[:, None], -torch.inf)
    best = (chosen == chosen.amax(2, keepdim=True)).float()
    torch.testing.assert_close(weights, best / best.sum(2, keepdim=True))


def test_half_precision_states_give_a_finite_distance_and_gradient():
    for dtype in (torch.float16, torch.bfloat16):
        model = matching().to(dtype)
        r1, r2 = (30 * torch.randn(2, LENGTH, DIM).to(dtype) for _ in range(2))
        mask = everything(2, LENGTH)
        distance = model(r1, mask, r2, mask, temperature(10**7, 0.01)).distance.mean()
        distance.backward()
        assert torch.isfinite(distance)
        assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_encoders_may_differ_in_width_but_not_where_raw_states_are_compared():
    model = matching(width_in=5, width_out=8)
    found = model(torch.randn(1, 2, 5), everything(1, 2), torch.randn(1, 3, 8), everything(1, 3))
    assert found.distance.shape == (1,)
    with pytest.raises(UserError, match="one width, got states of 5 and 8"):
        scores["raw"](5, 8)
