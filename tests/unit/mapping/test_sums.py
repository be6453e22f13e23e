import pytest
import torch

from fairseq_xling.mapping.paired import PAIRED
from fairseq_xling.mapping.procrustes import nearest_orthogonal, orthogonality_error, procrustes
from fairseq_xling.mapping.sums import Sums, cosine_of, least_squares_of
from tests.random_tensors import doubles as normal


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
    torch.testing.assert_close(nearest_orthogonal(sums.xy), procrustes(x, y))
    free = torch.linalg.lstsq(x, y).solution
    torch.testing.assert_close(least_squares_of(sums.xx, sums.xy), free)
    assert (x @ free - y).norm() < (x @ procrustes(x, y) - y).norm()
    solved = PAIRED["meeting"]().solve(sums)
    turned = x @ procrustes(x, y)
    middle = (turned + y) / 2  # both sides are brought to it, as near as linear maps can
    to_middle = procrustes(x, y) @ torch.linalg.lstsq(turned, middle).solution
    torch.testing.assert_close(solved.moving, to_middle)
    torch.testing.assert_close(solved.fixed, torch.linalg.lstsq(y, middle).solution)
    assert (x @ solved.moving - y @ solved.fixed).norm() < (turned - y).norm()


def test_a_planted_map_is_found_exactly(pairs):
    x, _ = pairs
    turn = torch.linalg.qr(normal(6, 6, seed=4)).Q
    found = nearest_orthogonal(sums_of(x, x @ turn).xy)
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
