import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fit import fit_rows
from fairseq_xling.mapping.normalize import normalize
from fairseq_xling.mapping.procrustes import procrustes
from tests.random_tensors import doubles as normal


@pytest.fixture
def pairs():
    x = 2 + normal(50, 5)
    turn = torch.linalg.qr(normal(5, 5, seed=2)).Q
    return x, (x - 3) @ turn + 0.1 * normal(50, 5, seed=3)


@pytest.mark.parametrize("steps", ["none", "centre", "iterative", "centre-first", "unit,centre"])
def test_both_sides_are_normalised_before_the_map_is_sought(pairs, steps):
    x, y = pairs
    found = fit_rows(x, y, normalize=steps)
    w = procrustes(normalize(x, steps), normalize(y, steps))
    torch.testing.assert_close(found.moving.matrix, w)
    torch.testing.assert_close(found.moving(x), normalize(x, steps) @ w)
    torch.testing.assert_close(found.fixed(y), normalize(y, steps))
    plain = fit_rows(x, y, "unconstrained", steps).moving.matrix
    free = torch.linalg.lstsq(normalize(x, steps), normalize(y, steps)).solution
    torch.testing.assert_close(plain, free)


def test_an_offset_and_a_rotation_are_undone_by_centring_first_alone(pairs):
    """SPEC G14: unit length first, an offset bends the vectors."""
    x, _ = pairs
    y = 4 + x @ torch.linalg.qr(normal(5, 5, seed=2)).Q
    new = 2 + normal(30, 5, seed=9)
    there = 4 + new @ torch.linalg.qr(normal(5, 5, seed=2)).Q
    errors = {}
    for steps in ("iterative", "centre-first"):
        found = fit_rows(x, y, normalize=steps)
        errors[steps] = float((found.moving(new) - found.fixed(there)).norm(dim=1).max())
    assert errors["centre-first"] < 1e-10 and errors["iterative"] > 0.1


def test_pairs_with_a_blank_line_are_left_out_on_both_sides(pairs):
    x, y = pairs
    gap_x, gap_y = x.clone(), y.clone()
    gap_x[3], gap_y[7] = 0, 0
    found = fit_rows(gap_x, gap_y, normalize="none")
    kept = [n for n in range(50) if n not in (3, 7)]
    torch.testing.assert_close(found.moving.matrix, procrustes(x[kept], y[kept]))
    assert found.fit["pairs"] == 48 and found.fit["blank"] == 2
    centred = fit_rows(gap_x, gap_y, normalize="centre").moving
    torch.testing.assert_close(centred(x[:1] * 0), x[:1] * 0)
    torch.testing.assert_close(centred.steps[0].value, x[[n for n in range(50) if n != 3]].mean(0))


def test_the_cosine_grows_by_the_map(pairs):
    found = fit_rows(*pairs, normalize="centre")
    assert found.fit["cosine_unmapped"] < 0.8 < 0.95 < found.fit["cosine"] < 1


def test_mistakes_are_one_line(pairs):
    x, y = pairs
    with pytest.raises(UserError, match=r"must pair up, got \(50, 5\) and \(49, 5\)"):
        fit_rows(x, y[:49])
    with pytest.raises(UserError, match="must be finite, got NaN or infinity"):
        fit_rows(x, y / 0)
    with pytest.raises(
        UserError, match="equally wide, got 5 and 3; methods without this restriction: unconst"
    ):
        fit_rows(x, y[:, :3])
    assert fit_rows(x, y[:, :3], "unconstrained").moving(x).shape == (50, 3)
    with pytest.raises(UserError, match="unknown mapping method 'procustes'; did you mean"):
        fit_rows(x, y, "procustes")
    x, y = torch.eye(2), torch.eye(2)
    x[0], y[1] = 0, 0
    with pytest.raises(UserError, match="none of the 2 pairs has non-zero vectors on both sides"):
        fit_rows(x, y, normalize="none")


@pytest.mark.parametrize("steps", ["none", "centre", "iterative"])
def test_a_side_that_never_changes_and_one_too_large_to_square_are_refused(pairs, steps):
    x, y = pairs
    with pytest.raises(UserError, match="must differ, those of the moving side are all identical"):
        fit_rows(torch.ones_like(x), y, normalize=steps)
    with pytest.raises(UserError, match="must differ, those of the fixed side are all identical"):
        fit_rows(x, torch.ones_like(y), normalize=steps)
    for method in ("procrustes", "unconstrained", "meeting"):
        with pytest.raises(UserError, match="must have finite squares, got larger ones"):
            fit_rows(1e200 * x, y, method, normalize="none")
