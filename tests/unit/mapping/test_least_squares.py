import pytest
import torch

from fairseq_xling.mapping.least_squares import least_squares
from fairseq_xling.mapping.meeting import meet
from fairseq_xling.mapping.procrustes import procrustes


@pytest.fixture
def pairs():
    """Rows, a rotation of them, and noise."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 12, generator=generator, dtype=torch.float64)
    w = torch.linalg.qr(torch.randn(12, 12, generator=generator, dtype=torch.float64))[0]
    return x, x @ w + 0.3 * torch.randn(300, 12, generator=generator, dtype=torch.float64)


def error(x, w, y):
    return float((x @ w - y).norm())


def test_it_is_the_least_squares_solution(pairs):
    x, y = pairs
    slow = torch.linalg.inv(x.T @ x) @ x.T @ y
    torch.testing.assert_close(least_squares(x, y), slow)


def test_no_orthogonal_map_has_a_smaller_error(pairs):
    x, y = pairs
    free, bound = error(x, least_squares(x, y), y), error(x, procrustes(x, y), y)
    assert free < bound < 1.1 * free


def test_rows_that_do_not_span_the_space_give_the_smallest_map(pairs):
    x, y = pairs
    x = x.clone()
    x[:, 3:] = 0
    w = least_squares(x, y)
    assert torch.allclose(w[3:], torch.zeros_like(w[3:]), atol=1e-12)
    with pytest.warns(UserWarning, match="5 pairs for 12 dimensions: the map fits them"):
        assert error(x[:5], least_squares(x[:5], y[:5]), y[:5]) > 0  # three columns for five rows


@pytest.mark.parametrize("rows", [(3, 4), (0, 0)])
def test_rows_that_do_not_pair_up_are_refused(rows):
    with pytest.raises(ValueError, match="rows to match must pair up"):
        least_squares(torch.zeros(rows[0], 2), torch.zeros(rows[1], 2))
    with pytest.raises(ValueError, match="must be finite, got NaN"):
        least_squares(torch.full((2, 2), torch.nan), torch.zeros(2, 2))


def test_both_spaces_come_to_their_average_and_so_nearer_than_by_rotation(pairs):
    x, y = pairs
    maps = meet(x, y)
    first, second = x @ maps.first, y @ maps.second
    middle = (x @ procrustes(x, y) + y) / 2
    assert float((first - second).norm()) < error(x, procrustes(x, y), y)
    assert float((first - middle).norm()) < float((x @ procrustes(x, y) - middle).norm())


def test_spaces_that_are_rotations_of_each_other_stay_where_they_are(pairs):
    x, y = pairs
    w = procrustes(x, y)
    maps = meet(x, x @ w)
    torch.testing.assert_close(maps.first, w)
    torch.testing.assert_close(maps.second, torch.eye(12, dtype=torch.float64))
