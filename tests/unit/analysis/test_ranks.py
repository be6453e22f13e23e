import numpy as np
import pytest
import torch

from fairseq_xling.analysis.ranks import found, nearest, ranks, right_answers
from tests.random_tensors import normal as random


def brute_force(queries, targets, gold):
    """Rank of the best right answer, one cosine at a time; ties count against it."""
    result = []
    for i, query in enumerate(queries):
        cosines = [float(torch.cosine_similarity(query, target, dim=0)) for target in targets]
        best = max(cosines[j] for j in gold[i])
        wrong = [c for j, c in enumerate(cosines) if j not in gold[i]]
        result.append(1 + sum(c >= best - 1e-6 for c in wrong))
    return result


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_ranks_equal_brute_force_in_every_chunk_size(chunk):
    queries, targets = random(17, 5), random(17, 5, seed=1) + 0.5 * random(17, 5)
    expected = brute_force(queries, targets, {i: [i] for i in range(17)})
    assert ranks(queries, targets, chunk=chunk).tolist() == expected
    assert len(set(expected)) > 3  # the case is not trivial


@pytest.mark.parametrize("chunk", [2, 1000])
def test_the_best_of_several_right_answers_counts(chunk):
    queries, targets = random(6, 4), random(9, 4, seed=1)
    gold = {i: [i, (3 * i + 1) % 9] for i in range(6)}
    pairs = torch.tensor([(i, j) for i, right in gold.items() for j in right])
    assert ranks(queries, targets, pairs, chunk=chunk).tolist() == brute_force(
        queries, targets, gold
    )


def test_zero_vectors_get_the_worst_rank():
    assert ranks(torch.zeros(5, 3), random(5, 3)).tolist() == [5] * 5


def test_equal_targets_are_tied_in_blocks_of_any_shape():
    queries = random(64, 32)
    targets = torch.cat([queries, queries])
    for chunk in (5, 64, 128):
        assert set(ranks(queries, targets, torch.arange(64).repeat(2, 1).T, chunk).tolist()) == {2}


def test_nan_is_an_error_and_not_a_good_rank():
    with pytest.raises(ValueError, match="must be finite"):
        ranks(torch.full((2, 2), torch.nan), torch.ones(2, 2))


def test_a_query_without_a_right_answer_is_an_error():
    with pytest.raises(ValueError, match="query 1 has no right answer"):
        ranks(torch.eye(2), torch.eye(2), torch.tensor([[0, 0]]))


def test_nearest_lists_targets_by_falling_cosine():
    queries, targets = random(5, 3), random(11, 3, seed=1)
    scores, index = nearest(queries, targets, 4, chunk=2)
    cosines = torch.cosine_similarity(queries[:, None], targets[None], dim=-1)
    assert torch.allclose(scores, cosines.gather(1, index))
    assert index.tolist() == cosines.argsort(descending=True)[:, :4].tolist()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_twin_of_the_answer_is_no_mistake(seed):
    """Compared with a search line by line; the second side is nearly the first."""
    rng = np.random.default_rng(seed)
    first, other = rng.integers(0, 50, (2, 60))
    texts = [first.tolist(), np.where(rng.random(60) < 0.5, first, other).tolist()]
    rows = torch.from_numpy(rng.normal(size=(50, 8)))
    x, y = rows[texts[0]], rows[texts[1]] + 1e-3
    (forth, _), repeated = right_answers(*texts)
    assert repeated == sum(60 - len(set(side)) for side in texts)
    right = found(x, y, forth)
    scores = torch.nn.functional.cosine_similarity(x[:, None], y[None], dim=-1)
    for n, query in enumerate(texts[0]):
        answers = {b for a, b in zip(*texts, strict=True) if a == query}
        best = {texts[1][j] for j in (scores[n] >= scores[n].max() - 1e-6).nonzero()[:, 0].tolist()}
        assert bool(right[n]) == (best <= answers)
    assert 0 < int(right.sum()) < 60


def test_five_lines_of_which_one_stands_twice_find_each_other():
    texts = ["a", "b", "c", "b", "d"]
    x = torch.eye(4)[[0, 1, 2, 1, 3]]
    assert (ranks(x, x) == 1).double().mean() == pytest.approx(0.6)
    (forth, back), repeated = right_answers(texts, texts)
    assert found(x, x, forth).all() and found(x, x, back).all() and repeated == 2
    assert right_answers("abc", "abd") == ((None, None), 0)


def test_equal_lines_take_no_more_memory_than_others():
    lines = [0] * 30_000 + [1]
    (forth, back), repeated = right_answers(lines, range(30_001))
    assert len(forth.pairs) == len(back.pairs) == 30_001 and repeated == 29_999
