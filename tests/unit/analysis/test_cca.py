"""SVCCA and PWCCA against definitions written out, and what they must not see."""

import pytest
import torch

from fairseq_xling.analysis.cca import pwcca, svcca
from fairseq_xling.analysis.cka import CKA
from fairseq_xling.core.errors import UserError

N, D, E = 300, 6, 9


@pytest.fixture
def pair():
    """Two representations that share three directions."""
    generator = torch.Generator().manual_seed(3)
    shared = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    return [
        shared @ torch.randn(3, width, generator=generator, dtype=torch.float64)
        + 0.7 * torch.randn(N, width, generator=generator, dtype=torch.float64)
        + 5
        for width in (D, E)
    ]


def sums(x, y, chunk=64):
    both = CKA()
    for start in range(0, len(x), chunk):
        both.update(x[start : start + chunk], y[start : start + chunk])
    return both.sums()


def principal(x, variance):
    """The principal variates that hold ``variance``, by a singular value decomposition."""
    u, s, _ = torch.linalg.svd(x - x.mean(0), full_matrices=False)
    count = int((s.square().cumsum(0) / s.square().sum() < variance - 1e-12).sum()) + 1
    return u[:, :count], s[:count]


@pytest.mark.parametrize("variance", [1.0, 0.99, 0.8, 0.3])
def test_svcca_is_the_mean_correlation_of_the_principal_directions(pair, variance):
    a, b = (principal(side, variance)[0] for side in pair)
    expected = torch.linalg.svdvals(a.T @ b).mean()
    assert svcca(sums(*pair), variance) == pytest.approx(float(expected), abs=1e-9)


def test_pwcca_weighs_by_what_the_variates_have_in_common_with_x(pair):
    x, y = (side - side.mean(0) for side in pair)
    (a, _), (b, _) = (torch.linalg.qr(side) for side in (x, y))
    u, rho, _ = torch.linalg.svd(a.T @ b, full_matrices=False)
    variates = a @ u
    weights = [sum(abs(float(h @ column)) for column in x.T) for h in variates.T]
    expected = sum(w * float(r) for w, r in zip(weights, rho, strict=True)) / sum(weights)
    assert pwcca(sums(*pair)) == pytest.approx(expected, abs=1e-9)


def test_an_invertible_linear_map_is_not_seen(pair):
    x = pair[0]
    generator = torch.Generator().manual_seed(8)
    mapped = x @ torch.randn(D, D, generator=generator, dtype=torch.float64) - 40
    assert svcca(sums(x, mapped), 1.0) == pytest.approx(1.0)
    assert pwcca(sums(x, mapped)) == pytest.approx(1.0)
    both = CKA()
    both.update(x, mapped)
    assert both.value() < 0.98  # which CKA sees


def test_a_direction_that_never_changes_is_left_out(pair):
    x = torch.cat([pair[0], pair[0][:, :1] * 2, torch.full((N, 1), 3.0)], 1)
    assert svcca(sums(x, pair[1]), 1.0) == pytest.approx(svcca(sums(*pair), 1.0), abs=1e-7)


def test_unrelated_representations_are_less_alike(pair):
    generator = torch.Generator().manual_seed(9)
    other = torch.randn(N, E, generator=generator, dtype=torch.float64)
    for measure in (svcca, pwcca):
        assert measure(sums(pair[0], other)) < 0.3 < measure(sums(*pair))


def test_mistakes_are_named(pair):
    with pytest.raises(UserError, match=r"^`variance` must lie in \(0, 1\], got 0$"):
        svcca(sums(*pair), 0)
    with pytest.raises(UserError, match="those of `y` are all identical"):
        sums(pair[0], torch.ones(N, 2))
