import numpy as np
import torch

from fairseq_xling.structures.trees import adjacency, distances, near_path


def random_heads(rng, size):
    """A tree with one root, words in any order."""
    order = rng.permutation(size)
    heads = np.zeros(size, dtype=np.int64)
    for place in range(1, size):
        heads[order[place]] = order[rng.integers(place)] + 1
    return heads


def padded(trees):
    longest = max(map(len, trees))
    return torch.tensor([[*tree, *[-1] * (longest - len(tree))] for tree in trees])


def walked(heads):
    """Distances by Floyd and Warshall."""
    size = len(heads)
    found = np.full((size, size), np.inf)
    np.fill_diagonal(found, 0)
    for word, head in enumerate(heads):
        if head:
            found[word, head - 1] = found[head - 1, word] = 1
    for k in range(size):
        found = np.minimum(found, found[:, k, None] + found[None, k])
    return found


def test_distances_are_those_of_a_walk_for_every_size():
    rng = np.random.default_rng(1)
    trees = [random_heads(rng, size) for size in range(1, 34)]
    found = distances(padded(trees)).numpy()
    for row, tree in zip(found, trees, strict=True):
        np.testing.assert_array_equal(row[: len(tree), : len(tree)], walked(tree))
        assert np.isinf(row[len(tree) :]).all() and np.isinf(row[:, len(tree) :]).all()


def test_a_chain_is_as_long_as_its_words():
    for size in range(1, 40):
        chain = torch.arange(size)[None]
        assert distances(chain)[0, 0, -1] == size - 1


def test_an_edge_goes_both_ways_and_padding_has_none():
    found = adjacency(torch.tensor([[2, 0, 2, -1]]))[0].int().tolist()
    assert found == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_words_near_the_path_are_those_that_a_walk_finds():
    rng = np.random.default_rng(2)
    for most in (0, 1, 2):
        trees, kept, spans = [], [], []
        for size in rng.integers(2, 15, 20):
            tree = random_heads(rng, size)
            a, b = np.zeros((2, 15), dtype=bool)
            edges = np.sort(rng.choice(size + 1, 2, replace=False))
            a[edges[0] : edges[1]] = True
            b[rng.integers(size)] = True
            apart = walked(tree)
            firsts, seconds = np.flatnonzero(a), np.flatnonzero(b)
            shortest = min(apart[i, j] for i in firsts for j in seconds)
            path = {
                k
                for k in range(size)
                for i in firsts
                for j in seconds
                if apart[i, k] + apart[k, j] == apart[i, j] == shortest
            }
            near = {k for k in range(size) if min(apart[k, p] for p in path) <= most}
            trees.append(tree)
            spans.append((a, b))
            kept.append(near | set(firsts) | set(seconds))
        heads = padded([*trees, np.zeros(15, dtype=np.int64)])[:-1]
        a, b = (torch.from_numpy(np.stack(side)) for side in zip(*spans, strict=True))
        found = near_path(heads, a, b, most)
        assert [set(row.nonzero().flatten().tolist()) for row in found] == kept
