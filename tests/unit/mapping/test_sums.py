import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping import least_squares, meet, orthogonality_error, procrustes
from fairseq_xling.mapping.paired import PAIRED
from fairseq_xling.mapping.sums import Sums, cosine_of, least_squares_of, procrustes_of


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sums_of(x, y, block=7):
    sums = Sums(x.shape[1], y.shape[1])
    for one, other in zip(x.split(block), y.split(block), strict=True):
        sums.add(one, other)
    return sums


@pytest.fixture
def pairs():
    """Rows with a common offset, longer in some directions; the others' depend on them."""
    x = 1 + normal(60, 6) * torch.arange(1, 7)
    return x, x @ normal(6, 6, seed=2) + 0.3 * normal(60, 6, seed=3)


def test_sums_of_blocks_give_the_maps_of_all_rows(pairs):
    x, y = pairs
    sums = sums_of(x, y)
    torch.testing.assert_close(procrustes_of(sums), procrustes(x, y))
    torch.testing.assert_close(least_squares_of(sums.xx, sums.xy), least_squares(x, y))
    solve = PAIRED["meeting"]().solve(sums)
    slow = meet(x, y)
    torch.testing.assert_close(solve.moving, slow.first)
    torch.testing.assert_close(solve.fixed, slow.second)


def test_a_planted_map_is_found_exactly(pairs):
    x, _ = pairs
    turn = torch.linalg.qr(normal(6, 6, seed=4)).Q
    found = procrustes_of(sums_of(x, x @ turn))
    assert (found - turn).abs().max() < 1e-10
    assert orthogonality_error(found) < 1e-12
    wide = normal(6, 9, seed=5)
    assert (least_squares_of(*_xx_xy(x, x @ wide)) - wide).abs().max() < 1e-10


def _xx_xy(x, y):
    sums = sums_of(x, y)
    return sums.xx, sums.xy


def test_directions_without_rows_are_mapped_to_nothing():
    # As the states behind a LayerNorm, which all lie in one plane, rounded as on disk.
    x = normal(500, 6)
    x = (x - x.mean(1, keepdim=True)).float().double()
    w = normal(6, 6, seed=2)
    found = least_squares_of(*_xx_xy(x, x @ w))
    ones = torch.ones(6, dtype=torch.float64) / 6**0.5
    assert (ones @ found).abs().max() < 1e-5
    torch.testing.assert_close(x @ found, x @ w, atol=1e-5, rtol=0)


def test_the_cosine_is_that_of_all_rows_and_grows_with_the_freedom_of_the_map(pairs):
    x, y = pairs
    sums = sums_of(x, y)
    found = {}
    for name in PAIRED:
        moving, fixed = PAIRED[name]().solve(sums)
        one, other = x @ moving, y if fixed is None else y @ fixed
        by_hand = float((one * other).sum() / (one.norm() * other.norm()))
        found[name] = cosine_of(sums, moving, fixed)
        assert found[name] == pytest.approx(by_hand, rel=1e-9)
    assert found["unconstrained"] > found["procrustes"] == found["contextual"]
    assert found["meeting"] > found["procrustes"] > cosine_of(sums, torch.eye(6))


def test_a_residual_is_never_larger_without_the_constraint(pairs):
    x, y = pairs
    sums = sums_of(x, y)
    residuals = [
        float((x @ PAIRED[name]().solve(sums).moving - y).square().sum())
        for name in ("unconstrained", "procrustes")
    ]
    assert residuals[0] < residuals[1]


# --- T23: one map of both sides, trained by gradient


@pytest.fixture
def translations():
    """Rows of one encoder in two languages: x is y with an offset of some directions, and noise."""
    y = normal(80, 6) * torch.arange(1, 7)
    return y + torch.tensor([2.0, -3.0, 0, 0, 0, 0]) + 0.2 * normal(80, 6, seed=3), y


def losses(x, y, w):
    """How far pairs are apart, and how far the fixed side has moved."""
    return float((x @ w - y @ w).square().sum()), float((y @ w - y).square().sum())


@pytest.mark.parametrize("anchor", [0.1, 1.0, 10.0])
def test_the_anchored_map_is_where_gradient_descent_ends(translations, anchor):
    x, y = translations
    found = PAIRED["anchored"](anchor).solve(sums_of(x, y))
    assert torch.equal(found.moving, found.fixed)
    w = torch.eye(6, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=200, tolerance_grad=1e-10, tolerance_change=0)

    def loss():
        optimizer.zero_grad()
        value = (x @ w - y @ w).square().sum() + anchor * (y @ w - y).square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    torch.testing.assert_close(found.moving, w.detach(), atol=1e-7, rtol=0)


def test_pairs_come_together_and_the_anchor_holds_the_fixed_side(translations):
    x, y = translations
    apart, still = losses(x, y, torch.eye(6, dtype=torch.float64))
    assert still == 0
    found = [
        losses(x, y, PAIRED["anchored"](a).solve(sums_of(x, y)).moving) for a in (0.1, 1, 10, 1e6)
    ]
    together, drift = zip(*found, strict=True)
    assert all(one < apart for one in together) and sorted(together) == list(together)
    assert sorted(drift, reverse=True) == list(drift)
    assert drift[-1] < 1e-6 * float(y.square().sum())
    collapsed = losses(x, y, PAIRED["anchored"](0.0).solve(sums_of(x, y)).moving)
    assert collapsed[0] < 1e-9 and collapsed[1] == pytest.approx(float(y.square().sum()))


def test_directions_that_no_pair_has_stay_as_they_are(translations):
    x, y = (torch.cat([side[:, :4], torch.zeros(80, 2)], 1) for side in translations)
    w = PAIRED["anchored"]().solve(sums_of(x, y)).moving
    torch.testing.assert_close(w[4:], torch.eye(6, dtype=torch.float64)[4:])


@pytest.mark.parametrize("anchor", [-1.0, float("nan"), float("inf")])
def test_an_anchor_is_a_weight(anchor):
    with pytest.raises(UserError, match="`--anchor` must be finite and not negative, got"):
        PAIRED["anchored"](anchor)
