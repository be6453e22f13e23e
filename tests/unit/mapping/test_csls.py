import pytest
import torch

from fairseq_xling.mapping import csls
from fairseq_xling.mapping.csls import (
    csls_criterion,
    csls_neighbours,
    local_densities,
    local_density,
    mutual_neighbours,
)


def normal(rows, width=6, seed=0):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double()


def cosine(x, y):
    return torch.cosine_similarity(x[:, None], y[None], 2)


def brute_force(x, y, k):
    """CSLS by its definition: a matrix (N, M)."""
    cos = cosine(x, y)
    r_t = [sum(sorted(row.tolist())[-k:]) / min(k, len(y)) for row in cos]
    r_s = [sum(sorted(row.tolist())[-k:]) / min(k, len(x)) for row in cos.T]
    return 2 * cos - torch.tensor(r_t)[:, None] - torch.tensor(r_s)[None]


@pytest.mark.parametrize("chunk", [3, 7, 100])
@pytest.mark.parametrize(("k", "top"), [(1, 1), (4, 5), (10, 2), (50, 40)])
def test_blocks_give_what_the_definition_gives(chunk, k, top):
    x, y = normal(23), normal(31, seed=1)
    expected = brute_force(x, y, k)
    scores, index = csls_neighbours(x, y, top, k, chunk)
    order = expected.argsort(1, descending=True)[:, :top]
    assert index.tolist() == order.tolist()
    torch.testing.assert_close(scores, expected.gather(1, order), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        local_density(x, y, k, chunk), cosine(x, y).sort(1)[0][:, -k:].mean(1)
    )


@pytest.mark.parametrize("chunk", [5, 100])
def test_mutual_pairs_are_each_others_best(chunk):
    x, y = normal(40), normal(30, seed=1)
    scores = brute_force(x, y, 10)
    forward, backward = scores.argmax(1), scores.argmax(0)
    expected = [[i, int(j)] for i, j in enumerate(forward) if backward[j] == i]
    assert mutual_neighbours(x, y, 10, chunk).tolist() == expected
    assert 0 < len(expected) < 30


def test_the_criterion_is_the_mean_cosine_of_the_neighbours_it_chose():
    x, y = normal(40), normal(30, seed=1)
    chosen = brute_force(x, y, 10).argmax(1)
    expected = cosine(x, y)[torch.arange(40), chosen].mean()
    assert csls_criterion(x, y) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("hubs", [0, 20])
@pytest.mark.parametrize("top", [1, 4])
def test_the_second_look_is_short_and_loses_nothing(monkeypatch, hubs, top):
    x, y = normal(300, 8), normal(400, 8, seed=1)
    y[:hubs] = 0.1 * y[:hubs] + x.mean(0) + 2  # near to everything that points this way
    x += 0.5
    sizes = []
    product = csls.Block.product
    monkeypatch.setattr(
        csls.Block, "product", lambda s, x, y: sizes.append(len(x) * len(y)) or product(s, x, y)
    )
    scores, index = csls_neighbours(x, y, top, 5, chunk=64)
    expected = brute_force(x, y, 5)
    order = expected.argsort(1, descending=True)[:, :top]
    assert index.tolist() == order.tolist()
    torch.testing.assert_close(scores, expected.gather(1, order), atol=1e-6, rtol=0)
    assert 300 * 400 <= sum(sizes) < 2 * 300 * 400 and max(sizes) <= 64 * 64


def test_both_densities_are_those_of_each_side():
    x, y = normal(40), normal(30, seed=1)
    r_t, r_s = local_densities(x, y, 7, chunk=16)
    torch.testing.assert_close(r_t, local_density(x, y, 7))
    torch.testing.assert_close(r_s, local_density(y, x, 7))


def test_vectors_that_ask_for_gradients_are_served():
    x = normal(9).requires_grad_()
    assert csls_neighbours(x, x, k=2)[1][:, 0].tolist() == list(range(9))


def test_nan_is_refused():
    x = normal(3)
    x[1, 2] = torch.nan
    for function in (local_density, csls_neighbours, mutual_neighbours, csls_criterion):
        with pytest.raises(ValueError, match="vectors to compare must be finite, got NaN"):
            function(normal(4), x)


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        ((3, 3), 0, "`k` must be at least 1, got 0"),
        ((0, 3), 1, "neighbours need a vector on both sides, got 0 and 3"),
        ((3, 0), 1, "neighbours need a vector on both sides, got 3 and 0"),
    ],
)
def test_no_neighbours_and_no_vectors_are_refused(rows, k, message):
    for function in (local_density, csls_neighbours, mutual_neighbours, csls_criterion):
        with pytest.raises(ValueError, match=message):
            function(normal(rows[0]), normal(rows[1]), k=k)
