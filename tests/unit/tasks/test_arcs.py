"""Biaffine scores beside loops over pairs, in any precision.

Maximum spanning trees beside all trees there are, and beside networkx for longer sentences.
"""

import itertools

import networkx
import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.arcs import (
    Perceptron,
    are_trees,
    best_tree,
    best_trees,
    chosen_scores,
    new_weight,
    pair_scores,
)
from fairseq_xling.tasks.formats.conllu import tree_fault


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("bias", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_all_pairs_and_chosen_pairs_equal_a_loop(bias):
    x, y, weight = drawn(2, 3, 4), drawn(2, 5, 6, seed=1), drawn(7, 4 + bias[0], 6 + bias[1])
    scores = pair_scores(x, weight, y)
    assert scores.shape == (2, 3, 5, 7) and scores.dtype == torch.float32
    for b in range(2):
        for i in range(3):
            for j in range(5):
                left = torch.cat([x[b, i], torch.ones(bias[0])])
                right = torch.cat([y[b, j], torch.ones(bias[1])])
                slow = torch.stack([left @ weight[k] @ right for k in range(7)]).float()
                torch.testing.assert_close(scores[b, i, j], slow, atol=1e-5, rtol=1e-5)
    chosen = chosen_scores(x[:, 0], weight, y[:, 2])
    torch.testing.assert_close(chosen, scores[:, 0, 2], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_half_precision_vectors_are_computed_in_float32(dtype):
    x, y, weight = (drawn(*shape).to(dtype) for shape in ((1, 3, 400), (1, 3, 400), (2, 400, 400)))
    exact = pair_scores(x.float(), weight.float(), y.float())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(pair_scores(x, weight, y), exact)
        assert chosen_scores(x[0], weight, y[0]).dtype == torch.float32


def test_a_new_weight_is_indifferent_but_learns_from_the_first_step():
    torch.manual_seed(0)
    left, right = Perceptron(6, 4, 0.0), Perceptron(6, 4, 0.0)
    weight, x = new_weight(2, 5, 4), torch.randn(1, 3, 6)
    scores = pair_scores(left(x), weight, right(x))
    assert not scores.any()
    scores[0, 0, 1, 1].backward()
    assert weight.grad[1].any() and not weight.grad[0].any()


ALL = {
    n: [h for h in itertools.product(range(n + 1), repeat=n) if tree_fault(h) is None]
    for n in range(1, 6)
}


def value(scores, heads):
    return sum(scores[word + 1, head] for word, head in enumerate(heads))


def mst_drawn(rng, words, kind):
    scores = rng.normal(size=(words + 1, words + 1))
    if kind == "ties":
        scores = rng.integers(0, 3, size=scores.shape).astype(float)
    if kind == "many roots":
        scores[:, 0] += 5
    if kind == "no roots":
        scores[:, 0] -= 50
    if kind == "tiny beside huge":
        scores *= 1e-6
        scores[1, :] -= 1e6
    np.fill_diagonal(scores, -np.inf)
    return scores


@pytest.mark.parametrize(
    "kind", ["normal", "ties", "many roots", "no roots", "tiny beside huge", "forbidden"]
)
@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_the_tree_is_the_best_of_all_trees_with_one_root(kind, words):
    rng = np.random.default_rng(words)
    for _ in range(40):
        scores = mst_drawn(rng, words, kind)
        if kind == "forbidden":
            scores[rng.random(scores.shape) < 0.4] = -np.inf
        heads = tuple(best_tree(scores)[1:].tolist())
        assert heads in ALL[words]
        # A tree without a forbidden arc wins, where there is one; else that with the fewest.
        plain = np.where(np.isneginf(scores), -1e3, scores)
        best = max(value(plain, tree) for tree in ALL[words])
        assert value(plain, heads) == pytest.approx(best, rel=0, abs=1e-9)


@pytest.mark.parametrize("kind", ["normal", "ties", "many roots"])
def test_longer_sentences_agree_with_networkx(kind):
    rng = np.random.default_rng(0)
    for words in (8, 13, 21):
        scores = mst_drawn(rng, words, kind)
        graph = networkx.DiGraph()
        for dependent in range(1, words + 1):
            for head in range(words + 1):
                if head != dependent:
                    weight = scores[dependent, head] - (1000 if head == 0 else 0)
                    graph.add_edge(head, dependent, weight=weight)
        tree = networkx.maximum_spanning_arborescence(graph)
        theirs = sum(scores[dependent, head] for head, dependent in tree.edges)
        heads = best_tree(scores)[1:].tolist()
        assert tree_fault(heads) is None and tree.out_degree(0) == 1
        assert value(scores, heads) == pytest.approx(theirs, abs=1e-9)


def test_a_batch_of_any_lengths_is_decoded_as_its_sentences_alone():
    rng = np.random.default_rng(1)
    lengths = torch.tensor([1, 7, 3, 12, 2, 5])
    scores = torch.full((6, 13, 13), 9.0)  # what stands in padding must not matter
    for number, words in enumerate(lengths.tolist()):
        one = mst_drawn(rng, words, "normal")
        if number % 2:  # so that greedy choice is a tree
            one[np.arange(1, words + 1), np.arange(words)] = 20.0
        np.fill_diagonal(one, 30.0)  # nor what stands on the diagonal
        scores[number, : words + 1, : words + 1] = torch.from_numpy(one)
    found = best_trees(scores, lengths)
    for number, words in enumerate(lengths.tolist()):
        alone = best_trees(scores[number : number + 1, : words + 1, : words + 1], lengths[[number]])
        assert found[number, :words].tolist() == alone[0].tolist()
        assert tree_fault(alone[0].tolist()) is None
        assert not found[number, words:].any()
    assert found[1, :7].tolist() == list(range(7))


def test_greedy_choice_where_it_is_a_tree_is_the_exact_one():
    rng = np.random.default_rng(2)
    scores = np.stack([mst_drawn(rng, 4, "normal") for _ in range(200)])
    found = best_trees(torch.from_numpy(scores), torch.full((200,), 4))
    for one, heads in zip(scores, found.tolist(), strict=True):
        best = max(value(one, tree) for tree in ALL[4])
        assert tuple(heads) in ALL[4] and value(one, heads) == pytest.approx(best)
    greedy = torch.from_numpy(scores).argmax(-1)
    greedy[:, 0] = 0
    share = are_trees(greedy, torch.full((200,), 4)).float().mean()
    assert 0.05 < share < 0.95  # both ways were taken


def test_a_doubling_walk_says_of_all_heads_whether_they_are_a_tree():
    every = list(itertools.product(range(5), repeat=4))
    heads = torch.tensor([(0, *h, 0, 0) for h in every])
    found = are_trees(heads, torch.full((len(every),), 4))
    assert found.tolist() == [tree_fault(h) is None for h in every]


def test_a_chain_longer_than_its_number_of_doublings_is_a_tree():
    chain = torch.arange(-1, 100).clamp_min(0)[None]
    assert are_trees(chain, torch.tensor([100])).tolist() == [True]
    chain[0, 40] = 60
    assert are_trees(chain, torch.tensor([100])).tolist() == [False]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused(bad):
    scores = torch.zeros(1, 4, 4)
    scores[0, 3, 1] = bad
    with pytest.raises(UserError, match=r"`scores` of arcs must be numbers or -inf, got NaN"):
        best_trees(scores, torch.tensor([3]))
    assert best_trees(scores, torch.tensor([2]))[0, 2] == 0  # in padding they do not matter


def test_scores_of_half_precision_are_taken():
    scores = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(0))
    for dtype in (torch.float16, torch.bfloat16):
        rounded = scores.to(dtype)
        lengths = torch.tensor([5, 4, 1])
        assert torch.equal(best_trees(rounded, lengths), best_trees(rounded.double(), lengths))
