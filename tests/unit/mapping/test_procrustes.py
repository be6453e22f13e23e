import pytest
import torch

from fairseq_xling.mapping.procrustes import nearest_orthogonal, orthogonality_error, procrustes
from fairseq_xling.mapping.refine import random_rotation
from tests.random_tensors import doubles as normal


@pytest.mark.parametrize("reflected", [False, True])
def test_a_planted_rotation_or_reflection_is_found_exactly(reflected):
    x, w = normal(200, 16), random_rotation(16, 3).double()
    w = nearest_orthogonal(w)  # orthogonal in double precision
    if reflected != (torch.linalg.det(w) < 0):
        w[:, 0] *= -1
    assert (procrustes(x, x @ w) - w).abs().max() < 1e-10
    assert orthogonality_error(procrustes(x, x @ w)) < 1e-10


def test_no_other_orthogonal_map_comes_nearer():
    x, y = normal(40, 5), normal(40, 5, seed=1)
    best = (x @ procrustes(x, y) - y).norm()
    others = [nearest_orthogonal(procrustes(x, y) + 0.1 * normal(5, 5, seed=s)) for s in range(50)]
    others += [random_rotation(5, s).double() for s in range(200)]
    assert all((x @ w - y).norm() > best for w in others)


def test_the_type_of_the_vectors_is_kept():
    x = normal(9, 3).float()
    assert procrustes(x, x).dtype == torch.float32


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(2, 3), torch.ones(3, 3), r"must pair up, got \(2, 3\) and \(3, 3\)"),
        (torch.ones(0, 3), torch.ones(0, 3), r"must pair up, got \(0, 3\) and \(0, 3\)"),
        (torch.ones(3), torch.ones(3), r"must pair up, got \(3,\) and \(3,\)"),
        (torch.full((2, 2), float("nan")), torch.ones(2, 2), "must be finite, got NaN or infinity"),
    ],
)
def test_what_cannot_be_matched_is_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        procrustes(x, y)
