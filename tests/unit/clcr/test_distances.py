"""Distances of sequences against loops over single vectors."""

import numpy as np
import pytest

from fairseq_xling.clcr.distances import distances, random_partners, sequence_distances
from tests.sequence_folder import write_folder

COUNTS_X, COUNTS_Y = [3, 1, 0, 5, 2], [2, 4, 3, 5, 0]


def folders(root, width=4):
    generator = np.random.default_rng(0)
    found = [
        [generator.normal(size=(count, width)).astype("float32") for count in counts]
        for counts in (COUNTS_X, COUNTS_Y)
    ]
    return found, [write_folder(root / name, one) for name, one in zip("xy", found, strict=True)]


def norm(vector, name):
    return sum(abs(vector)) if name == "l1" else float(np.sqrt(sum(vector**2)))


def one_way(x, y, name, tau):
    """The mean over y of how far each vector is from its mixture of x."""
    total = 0.0
    for query in y:
        a = np.array([-norm(key - query, name) for key in x])
        if tau == 0:
            mixed = x[int(a.argmax())]
        else:
            shares = np.exp(a / tau) / np.exp(a / tau).sum()
            mixed = sum(share * key for share, key in zip(shares, x, strict=True))
        total += norm(mixed - query, name)
    return total / len(y)


def by_position(x, y, name):
    pairs = list(zip(x, y, strict=False))
    return sum(norm(first - second, name) for first, second in pairs) / len(pairs)


@pytest.mark.parametrize("name", ["l1", "l2"])
@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_distances_are_those_of_loops_whatever_the_batch(tmp_path, name, tau):
    (x, y), sides = folders(tmp_path)
    pairs = np.array([[i, j] for i in range(5) for j in range(5)])
    for size in (1, 7, 100):
        matched = sequence_distances(*sides, pairs, distances["matched"](name, tau), size)
        placed = sequence_distances(*sides, pairs, distances["positions"](name, tau), size)
        for (i, j), d, p in zip(pairs, matched, placed, strict=True):
            if not (COUNTS_X[i] and COUNTS_Y[j]):
                assert np.isnan(d) and np.isnan(p)
                continue
            both = one_way(x[i], y[j], name, tau) + one_way(y[j], x[i], name, tau)
            assert d == pytest.approx(both / 2, abs=1e-5)
            assert p == pytest.approx(by_position(x[i], y[j], name), abs=1e-5)


@pytest.mark.row("C1")
def test_a_sequence_is_nearest_to_itself_in_any_order_whatever_all_vectors_share(tmp_path):
    generator = np.random.default_rng(0)
    sizes = generator.uniform(0.1, 9.0, size=(20, 6, 1))  # of norms far apart, beside an offset
    vectors = (sizes * generator.normal(size=(20, 6, 4)) + 30).astype("float32")
    x = write_folder(tmp_path / "x", [*vectors])
    y = write_folder(tmp_path / "y", [one[generator.permutation(6)] for one in vectors])
    matched = distances["matched"]("l2", 0.0)
    own = sequence_distances(x, y, np.stack([np.arange(20)] * 2, 1), matched)
    assert (own == 0).all()
    other = sequence_distances(x, y, random_partners(20, 1, generator), matched)
    assert (other > 0.1).all()


def test_no_sentence_meets_its_own_translation_and_each_is_drawn_as_often():
    pairs = random_partners(6, 3, np.random.default_rng(0))
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert all((np.bincount(side) == 3).all() for side in pairs.T)
