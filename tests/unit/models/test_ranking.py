import itertools

import torch

from fairseq_xling.models.ranking import _gains, rank_by_preference


def antisymmetric(count, size, seed=0, scale=1.0):
    torch.manual_seed(seed)
    scores = torch.randn(count, size, size) * scale
    return scores - scores.transpose(1, 2)


def total(scores, rank):
    """The sum of the preferences that ``rank`` follows, pair by pair."""
    size = len(rank)
    return sum(float(scores[i, j]) for i in range(size) for j in range(size) if rank[i] < rank[j])


def test_every_move_gains_what_a_loop_over_pairs_finds():
    (scores,) = antisymmetric(1, 6)
    gains = _gains(scores[None])[0]
    before = total(scores, list(range(6)))
    for p, q in itertools.product(range(6), repeat=2):
        moved = [item for item in range(6) if item != p]
        moved.insert(q, p)
        rank = [moved.index(item) for item in range(6)]
        assert abs(float(gains[p, q]) - (total(scores, rank) - before)) < 1e-4


def test_nearly_all_orders_are_the_best_of_all_permutations():
    found = 0
    for size in (2, 3, 5, 6):
        scores = antisymmetric(30, size, seed=size)
        ranks = rank_by_preference(scores)
        for one, rank in zip(scores, ranks.tolist(), strict=True):
            assert sorted(rank) == list(range(size))
            orders = torch.tensor(list(itertools.permutations(range(size))))
            pairs = itertools.combinations(range(size), 2)
            best = float(sum(one[orders[:, a], orders[:, b]] for a, b in pairs).max())
            ours = total(one, rank)
            assert ours <= best + 1e-4
            found += ours > best - 1e-4
    assert found >= 0.9 * 120


def test_preferences_without_contradiction_give_their_order_exactly():
    torch.manual_seed(1)
    gold = torch.stack([torch.randperm(20) for _ in range(8)])
    scores = (gold[:, None, :] - gold[:, :, None]).float().sign() * torch.rand(8, 20, 20).add(0.1)
    scores = scores.triu(1) - scores.triu(1).transpose(1, 2)
    assert torch.equal(rank_by_preference(scores), gold)
