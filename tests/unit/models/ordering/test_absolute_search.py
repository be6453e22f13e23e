"""Searches for an absolute order: valid permutations, and never below the Hungarian cost."""

import itertools

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.ordering.search import absolute_searches, assign


def costs_of(count, size, positions=None, seed=1):
    """-log p of random classifiers, (count, size, positions)."""
    logits = torch.randn(
        count, size, positions or size, generator=torch.Generator().manual_seed(seed)
    )
    return -(3 * logits).log_softmax(-1)


def full(costs):
    return torch.full((len(costs),), costs.shape[1])


def obvious_beam(costs, width):
    """Ranks of one sentence: hypotheses in a list, ties by place in it."""
    size = len(costs)
    beam = [(0, [])]
    for position in range(size):
        grown = [
            (cost + costs[i][position], [*order, i])
            for cost, order in beam
            for i in range(size)
            if i not in order
        ]
        sets = {}
        for cost, order in sorted(grown, key=lambda entry: entry[0])[: 4 * width]:
            sets.setdefault(frozenset(order), (cost, order))
        beam = list(sets.values())[:width]
    order = beam[0][1]
    return [order.index(i) for i in range(size)]


@pytest.mark.parametrize("width", [1, 10])
def test_a_beam_finds_permutations_that_cost_no_less_than_the_hungarian_ones(width):
    costs = costs_of(40, 12)
    beam = assign(costs, full(costs), width=width)
    best = assign(costs, full(costs), search="hungarian")
    for found in (beam, best):
        assert found.ranks.sort(1).values.tolist() == [list(range(12))] * 40
        taken = costs.gather(2, found.ranks[..., None]).sum((1, 2))
        assert found.cost.tolist() == pytest.approx(taken.tolist(), abs=1e-4)
    assert (beam.cost >= best.cost).all()
    if width == 10:
        assert (beam.cost == best.cost).float().mean() >= 0.1
    assert beam.cost.mean() / best.cost.mean() < (1.15 if width == 10 else 1.6)


@pytest.mark.parametrize("size", range(1, 7))
def test_on_small_sentences_beam_and_hungarian_are_the_best_of_all_permutations(size):
    costs = costs_of(6, size)
    least = [
        min(
            sum(float(one[i, p]) for i, p in enumerate(r))
            for r in itertools.permutations(range(size))
        )
        for one in costs
    ]
    for search in absolute_searches:
        found = assign(costs, full(costs), search=search, width=720)
        assert found.cost.tolist() == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("width", [1, 3, 10])
def test_the_beam_is_the_obvious_one(width):
    costs = costs_of(6, 8)
    ties = torch.randint(0, 3, (6, 8, 8), generator=torch.Generator().manual_seed(1)).float()
    for some in (costs, ties):
        counted = (some.double() * 2**20).round().long()
        expected = [obvious_beam(one.tolist(), width) for one in counted]
        assert assign(some, full(some), width=width).ranks.tolist() == expected


@pytest.mark.parametrize("search", absolute_searches)
def test_padding_and_spare_positions_change_nothing(search):
    sizes = [6, 1, 9, 0, 4]
    rows = [costs_of(1, size, seed=number) for number, size in enumerate(sizes)]
    rows[2] = (rows[2] > 4).float()  # ties
    padded = torch.full((5, 11, 20), torch.nan)
    for number, one in enumerate(rows):
        padded[number, : sizes[number], : sizes[number]] = one[0]
    together = assign(padded, torch.tensor(sizes), search=search)
    for number, (one, size) in enumerate(zip(rows, sizes, strict=True)):
        alone = assign(one, torch.tensor([size]), search=search)
        assert together.ranks[number].tolist() == [*alone.ranks[0].tolist(), *range(size, 11)]
        assert together.cost[number] == alone.cost[0]


@pytest.mark.parametrize("search", absolute_searches)
def test_impossible_positions_are_taken_last(search):
    costs = torch.tensor([[[1.0, torch.inf, 0], [1, 2, 0], [0, 0, torch.inf]]])
    found = assign(costs, torch.tensor([3]), search=search)
    assert found.ranks.tolist() == [[0, 2, 1]] or found.ranks.tolist() == [[2, 0, 1]]
    assert found.cost.tolist() == [1.0]


def test_more_key_points_than_positions_are_refused():
    rule = "must have a position for each key-point, got 4 positions and a sentence with 5"
    with pytest.raises(UserError, match=f"^`costs` {rule}$"):
        assign(torch.zeros(2, 5, 4), torch.tensor([4, 5]))
    assert assign(torch.zeros(2, 5, 4), torch.tensor([4, 3])).ranks.shape == (2, 5)
