import math

import pytest
import torch

from fairseq_xling.analysis import cka
from fairseq_xling.analysis.cka import CKA, cka_matrix, linear_cka
from fairseq_xling.core.errors import UserError
from tests.random_tensors import doubles as normal


def hsic_form(x, y):
    """CKA by N x N kernels: HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)), HSIC(K, L) ~ tr(KHLH)."""
    n = len(x)
    h = torch.eye(n, dtype=torch.float64) - 1 / n
    k, l = h @ (x @ x.T) @ h, h @ (y @ y.T) @ h
    return float(torch.trace(k @ l) / (torch.trace(k @ k) * torch.trace(l @ l)).sqrt())


def streamed(x, y, sizes):
    sums = CKA()
    for a, b in zip(x.split(sizes), y.split(sizes), strict=True):
        sums.update(a, b)
    return sums.value()


@pytest.mark.parametrize("widths", [(5, 5), (3, 9), (50, 2)])
def test_it_equals_the_form_with_kernels(widths):
    shared = normal(40, 2)
    x, y = (
        shared @ normal(2, w, seed=w) + normal(40, w, seed=i + 1) + 3 for i, w in enumerate(widths)
    )
    assert 0.1 < hsic_form(x, y) < 0.95
    assert linear_cka(x, y) == pytest.approx(hsic_form(x, y), abs=1e-12)
    assert linear_cka(x, y) == pytest.approx(linear_cka(y, x), abs=1e-12)


@pytest.mark.parametrize("sizes", [1, 7, [1, 98, 1], [60, 0, 40]])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_chunks_of_any_size_give_what_the_whole_gives(sizes, offset):
    x, y = normal(100, 6) + offset, normal(100, 8, seed=1) - offset
    assert streamed(x, y, sizes) == pytest.approx(hsic_form(x - offset, y + offset), abs=1e-10)
    assert streamed(x, y, sizes) == pytest.approx(linear_cka(x, y), abs=1e-10)


def test_rows_beyond_a_block_are_counted_alike(monkeypatch):
    x, y = normal(100, 6), normal(100, 6, seed=1)
    whole = linear_cka(x, y)
    monkeypatch.setattr(cka, "_BLOCK", 9)
    assert linear_cka(x, y) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("offset", [1e4, 1e9])
def test_a_large_common_offset_changes_nothing(offset):
    # Whole numbers, so that adding the offset itself rounds nothing.
    x, y = normal(200, 8).mul(50).round(), normal(200, 8, seed=1).mul(50).round()
    assert linear_cka(x + offset, y + offset) == pytest.approx(linear_cka(x, y), abs=1e-12)


def test_means_that_drift_from_chunk_to_chunk_are_no_offset():
    drift = torch.arange(100.0).double()[:, None] * 1e3
    x, y = normal(100, 4) + drift, normal(100, 4, seed=1) - drift
    assert streamed(x, y, 10) == pytest.approx(hsic_form(x, y), abs=1e-10)


def test_single_precision_and_half_precision_states_are_summed_in_double():
    x, y = normal(500, 8).float() + 1e4, normal(500, 8, seed=1).half()
    assert streamed(x, y, 13) == pytest.approx(linear_cka(x.double(), y.double()), abs=1e-12)


@pytest.mark.parametrize("size", [1e-80, 1e80])
def test_tiny_and_huge_states_lose_nothing(size):
    x, y = normal(30, 4), normal(30, 4, seed=1)
    assert linear_cka(size * x, y / size) == pytest.approx(linear_cka(x, y), rel=1e-12)


def test_memory_does_not_grow_with_the_rows():
    sums = CKA()
    for seed in range(3):
        sums.update(normal(5000, 4, seed=seed), normal(5000, 3, seed=seed + 9))
        kept = 0
        for part in (sums._x, sums._y, sums._xx, sums._yy, sums._xy):
            kept += sum(v.numel() for v in vars(part).values() if isinstance(v, torch.Tensor))
        assert kept == 4 * 4 + 4 * 3 + 3 * 3 + 2 * (4 + 3)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(3, 2), torch.ones(4, 2), "must have equally many rows, got 3 and 4"),
        (torch.ones(3), torch.ones(3), r"must be matrices of examples in rows, got \(3,\) and"),
        (torch.eye(3), torch.eye(3) * math.nan, "`y` must be finite, got NaN or infinity in row 0"),
        (torch.eye(3).log(), torch.eye(3), "`x` must be finite, got NaN or infinity in row 0"),
        (torch.eye(1), torch.eye(1), "CKA needs at least 2 rows, got 1"),
        (torch.eye(0), torch.eye(0), "CKA needs at least 2 rows, got 0"),
        (torch.full((5, 2), 0.1), torch.eye(5), "rows that differ, those of `x` are all identical"),
        (torch.eye(5), torch.full((5, 2), 1e7 / 3), "rows that differ, those of `y` are all ident"),
        (torch.eye(2).double() * 1e200, torch.eye(2), "values whose squares are finite"),
    ],
)
def test_what_has_no_cka_is_refused_in_one_line(x, y, message):
    with pytest.raises(UserError, match=message) as error:
        linear_cka(x, y)
    assert "\n" not in str(error.value)


def test_constant_input_is_seen_across_chunks_too():
    with pytest.raises(UserError, match="those of `x` are all identical"):
        streamed(torch.full((70, 3), 0.3), normal(70, 3), 7)


def test_a_refused_chunk_leaves_the_sums_as_they_were():
    x, y, sums = normal(20, 3), normal(20, 3, seed=1), CKA()
    sums.update(x[:9], y[:9])
    spoilt = x[9:].clone()
    spoilt[4, 1] = math.inf
    with pytest.raises(UserError, match="`x` must be finite, got NaN or infinity in row 13"):
        sums.update(spoilt, y[9:])
    with pytest.raises(UserError, match=r"widths must stay \(3, 3\), got \(3, 2\)"):
        sums.update(x[9:], y[9:, :2])
    sums.update(x[9:], y[9:])
    assert sums.value() == pytest.approx(linear_cka(x, y), abs=1e-12)


def test_the_matrix_of_all_layers_has_the_cka_of_each_two():
    xs = [normal(50, 4, seed=n) for n in range(3)]
    ys = [xs[1] @ normal(4, 5, seed=9), normal(50, 2, seed=7)]
    calls = []
    found = cka_matrix(
        [lambda x=x: x.split(20) for x in xs],
        [lambda y=y: y.split(20) for y in ys],
        lambda: calls.append(1),
    )
    expected = [[linear_cka(x, y) for y in ys] for x in xs]
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), atol=1e-12, rtol=0
    )
    assert found.shape == (3, 2) and len(calls) == 3 + 2 + 6
    assert found[1, 0] > found[0, 0] + 0.2  # the layer that the other was made of
