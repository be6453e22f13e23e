"""Shares of languages, and permutations by position."""

import numpy as np
import pytest
from scipy.stats import chisquare

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.sampling import mix, permute, smoothed_shares

MANY = {"en": 500_000_000, "de": 70_000_000, "sw": 300, "is": 1}
FRACTIONS = np.array(list(MANY.values())) / sum(MANY.values())
THREE = {"en": 700, "de": 200, "zh": 100}


@pytest.mark.parametrize(
    ("sizes", "alpha", "expected"),
    [
        ({"en": 9, "de": 1}, 0.7, [0.823, 0.177]),  # the specification's example
        (MANY, 0.3, (FRACTIONS**0.3 / (FRACTIONS**0.3).sum()).tolist()),
        (THREE, 1, [0.7, 0.2, 0.1]),
        (THREE, 0, [1 / 3] * 3),
    ],
)
def test_shares_are_those_of_the_formula(sizes, alpha, expected):
    shares = smoothed_shares(sizes, alpha)
    assert list(shares) == list(sizes)
    assert list(shares.values()) == pytest.approx(expected, abs=5e-4 if len(sizes) == 2 else None)


@pytest.mark.parametrize("alpha", [-0.1, 1.01, float("nan")])
def test_alpha_outside_0_to_1_and_a_language_without_text_are_refused(alpha):
    with pytest.raises(UserError) as caught:
        smoothed_shares({"en": 1}, alpha)
    assert str(caught.value) == f"`--lang-sampling-alpha` must lie in [0, 1], got {alpha}"
    with pytest.raises(UserError, match=r"^'de' has no sentences to sample from$"):
        smoothed_shares({"en": 5, "de": 0}, 0.7)


@pytest.mark.parametrize("size", [*range(1, 70), 255, 256, 257, 1000, 65537])
def test_all_positions_come_back_once(size):
    assert sorted(permute(np.arange(size), size, 3, 1).tolist()) == list(range(size))


def test_a_position_alone_goes_where_it_goes_in_company():
    positions = np.arange(1000)
    together = permute(positions, 1000, 5)
    assert positions.tolist() == list(range(1000))  # not changed in place
    alone = [permute(np.array([i]), 1000, 5)[0] for i in (0, 17, 999)]
    assert alone == together[[0, 17, 999]].tolist()


def test_positions_of_a_huge_range_need_no_memory_for_the_rest():
    size = 10**15
    found = permute(np.arange(size - 1000, size), size, 1)
    assert len(set(found.tolist())) == 1000
    assert found.min() >= 0 and found.max() < size


@pytest.mark.parametrize("size", [2, 7])
def test_over_many_keys_an_element_lands_everywhere_equally_often(size):
    landed = np.array([permute(np.arange(size), size, key) for key in range(4000)])
    for position in range(size):
        counts = np.bincount(landed[:, position], minlength=size)
        assert chisquare(counts).pvalue > 1e-4, (position, counts)


def test_a_shuffled_corpus_keeps_no_trace_of_its_order():
    size = 20000
    shuffled = permute(np.arange(size), size, 7)
    assert abs(np.corrcoef(np.arange(size), shuffled)[0, 1]) < 4 / np.sqrt(size)
    assert abs(np.corrcoef(shuffled[:-1], shuffled[1:])[0, 1]) < 4 / np.sqrt(size)
    assert (np.diff(shuffled) == 1).sum() < 10  # neighbours do not stay neighbours


def test_mixing_spreads_neighbouring_numbers_over_all_bits():
    flips = [bin(mix(1, n) ^ mix(1, n + 1)).count("1") for n in range(2000)]
    assert 31 < np.mean(flips) < 33
    assert len({mix(a, b) for a in range(60) for b in range(60)}) == 3600
    assert all(0 <= mix(n) < 1 << 64 for n in range(100))
