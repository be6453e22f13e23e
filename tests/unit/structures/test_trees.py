import numpy as np
import torch

from fairseq_xling.structures.trees import ROOT, distances, near_path, neighbours


def random_heads(rng, size):
    """A tree with one root, words in any order."""
    order = rng.permutation(size)
    heads = np.full(size, ROOT)
    for place in range(1, size):
        heads[order[place]] = order[rng.integers(place)]
    return heads


def padded(trees):
    """Heads and mask."""
    sizes = torch.tensor([len(tree) for tree in trees])
    longest = int(sizes.max())
    heads = torch.tensor([[*tree, *[ROOT] * (longest - len(tree))] for tree in trees])
    return heads, torch.arange(longest) < sizes[:, None]


def joined(trees):
    """Heads of words that are numbered through all trees."""
    starts = np.cumsum([0, *map(len, trees)])[:-1]
    return torch.from_numpy(
        np.concatenate(
            [np.where(t < 0, ROOT, t + start) for t, start in zip(trees, starts, strict=True)]
        )
    )


def walked(heads):
    """Distances by Floyd and Warshall."""
    size = len(heads)
    found = np.full((size, size), np.inf)
    np.fill_diagonal(found, 0)
    for word, head in enumerate(heads):
        if head != ROOT:
            found[word, head] = found[head, word] = 1
    for k in range(size):
        found = np.minimum(found, found[:, k, None] + found[None, k])
    return found


def test_distances_are_those_of_a_walk_for_every_size():
    rng = np.random.default_rng(1)
    trees = [random_heads(rng, size) for size in range(1, 34)]
    found = distances(*padded(trees)).numpy()
    for row, tree in zip(found, trees, strict=True):
        np.testing.assert_array_equal(row[: len(tree), : len(tree)], walked(tree))
        assert np.isinf(row[len(tree) :]).all() and np.isinf(row[:, len(tree) :]).all()


def test_a_chain_is_as_long_as_its_words():
    for size in range(1, 40):
        chain = torch.arange(size)[None] - 1
        assert distances(chain, chain >= ROOT)[0, 0, -1] == size - 1


def test_neighbours_are_the_words_at_one_edge_whichever_way_it_goes():
    rng = np.random.default_rng(4)
    trees = [random_heads(rng, size) for size in (1, 2, 9, 5)]
    found = neighbours(joined(trees), torch.double)
    near = np.split(found.words.numpy(), found.starts.numpy()[1:])
    shares = np.split(found.shares.numpy(), found.starts.numpy()[1:])
    degrees = [len(own) for own in near]
    assert len(near) == 17 == len(found.starts)
    start = 0
    for tree in trees:
        for word, own in enumerate(walked(tree) <= 1):
            expected = start + np.flatnonzero(own)
            np.testing.assert_array_equal(near[start + word], expected)
            np.testing.assert_array_equal(shares[start + word], 1 / len(expected))
        start += len(tree)
    expected = [1 / degrees[word] for word in found.words]
    np.testing.assert_array_equal(found.own_shares, expected)


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
        heads, mask = (one[:-1] for one in padded([*trees, np.full(15, ROOT)]))
        a, b = (torch.from_numpy(np.stack(side)) for side in zip(*spans, strict=True))
        found = near_path(heads, mask, a, b, most)
        assert [set(row.nonzero().flatten().tolist()) for row in found] == kept
