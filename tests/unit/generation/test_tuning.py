"""The search for the best pair of values, against all pairs."""

import itertools
import random

import pytest

from fairseq_xling.generation.tuning import climb

ONES, OTHERS = (0.1, 0.2, 0.4, 0.8, 1.0), (0.0, 1.0, 2.0, 4.0)


def tried(score, start=(0.4, 1.0)):
    calls = []

    def scored(one, other):
        calls.append((one, other))
        return score(one, other)

    found = climb(scored, ONES, OTHERS, start)
    assert sorted(calls) == list(found) == sorted(set(calls))
    assert found == {pair: score(*pair) for pair in calls}
    return found


@pytest.mark.parametrize("peak", list(itertools.product(ONES, OTHERS)))
def test_a_single_hill_is_climbed_to_its_top_from_anywhere(peak):
    def score(one, other):
        return -abs(ONES.index(one) - ONES.index(peak[0])) - abs(
            OTHERS.index(other) - OTHERS.index(peak[1])
        )

    for start in itertools.product(ONES, OTHERS):
        found = tried(score, start)
        assert max(found, key=found.get) == peak


def test_nothing_around_the_best_is_better():
    chance = random.Random(3)
    scores = {pair: chance.random() for pair in itertools.product(ONES, OTHERS)}
    found = tried(lambda one, other: scores[one, other])
    best = max(found, key=found.get)
    i, j = ONES.index(best[0]), OTHERS.index(best[1])
    around = itertools.product(ONES[max(0, i - 1) : i + 2], OTHERS[max(0, j - 1) : j + 2])
    assert all(scores[pair] <= scores[best] for pair in around)


def test_it_begins_at_the_nearest_pair_and_stops_on_a_plain():
    found = tried(lambda one, other: 1.0, start=(0.14, 0.4))
    assert list(found) == [(0.1, 0.0), (0.1, 1.0), (0.2, 0.0), (0.2, 1.0)]
