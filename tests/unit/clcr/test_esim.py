"""ESIM against loops over sequences one by one; padding and empty sequences change nothing."""

import math

import pytest
import torch

from fairseq_xling.clcr.esim import BiLstm, Esim, cross_attention, pool

WIDTH, HIDDEN = 5, 4


def sequences(sizes, seed=0, width=WIDTH, junk=0.0):
    """Padded sequences of these sizes, ``junk`` in the padding, and their mask."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.full((len(sizes), max(sizes), width), junk)
    padding = torch.ones(len(sizes), max(sizes), dtype=torch.bool)
    for row, size in enumerate(sizes):
        x[row, :size] = torch.randn(size, width, generator=generator)
        padding[row, :size] = False
    return x, padding


def attend(queries, keys):
    """Every query's mixture of the keys, by lists of numbers."""
    found = []
    for query in queries.tolist():
        scores = [math.exp(sum(p * q for p, q in zip(query, key, strict=True))) for key in keys]
        shares = [score / sum(scores) for score in scores]
        found.append([sum(s * key[d] for s, key in zip(shares, keys, strict=True))
                      for d in range(len(query))])  # fmt: skip
    return torch.tensor(found)


def test_cross_attention_is_that_of_loops_and_reads_no_padding():
    (a, a_padding), (b, b_padding) = sequences([3, 1, 4], 1), sequences([2, 5, 1], 2)
    over_b, over_a = cross_attention(
        a.masked_fill(a_padding[..., None], 9.0), b.masked_fill(b_padding[..., None], -9.0),
        a_padding, b_padding,
    )  # fmt: skip
    for row in range(3):
        x, y = a[row][~a_padding[row]], b[row][~b_padding[row]]
        assert torch.allclose(over_b[row][~a_padding[row]], attend(x, y.tolist()), atol=1e-5)
        assert torch.allclose(over_a[row][~b_padding[row]], attend(y, x.tolist()), atol=1e-5)


def test_pooling_takes_mean_and_maximum_of_what_is_there():
    x, padding = sequences([3, 1], junk=100.0)
    found = pool(x, padding)
    for row, size in enumerate([3, 1]):
        own = x[row, :size]
        assert torch.allclose(found[row], torch.cat([own.mean(0), own.max(0).values]))


def test_the_recurrence_reads_both_directions_of_each_sequence_alone():
    lstm = BiLstm(WIDTH, HIDDEN)
    x, padding = sequences([4, 2, 1], junk=7.0)
    found = lstm(x, padding)
    for row, size in enumerate([4, 2, 1]):
        alone, _ = lstm.lstm(x[row : row + 1, :size])
        assert torch.allclose(found[row, :size], alone[0], atol=1e-6)
        assert not found[row, size:].any()


def test_the_enhanced_vectors_are_those_of_the_paper():
    torch.manual_seed(0)
    network = Esim(WIDTH, 3, hidden=HIDDEN).eval()
    (x, none), (y, neither) = sequences([3], 1), sequences([2], 2)
    a, _ = network.encode.lstm(x)
    b, _ = network.encode.lstm(y)
    pooled = []
    for own, other in ((a, b), (b, a)):
        found = attend(own[0], other[0].tolist())[None]
        m = torch.cat([own, found, own - found, own * found], dim=-1)
        v, _ = network.compose.lstm(torch.relu(network.reduce(m)))
        pooled += [v.mean(1), v.max(1).values]
    expected = network.classify(torch.tanh(network.combine(torch.cat(pooled, dim=-1))))
    assert torch.allclose(network(x, none, y, neither), expected, atol=1e-5)


@pytest.mark.row("C15")
@pytest.mark.parametrize("projection", [0, 3])
def test_a_pair_alone_has_the_logits_that_it_has_in_a_padded_batch(projection):
    torch.manual_seed(0)
    network = Esim(WIDTH, 3, projection=projection, hidden=HIDDEN).eval()
    sizes = [3, 1, 6, 2], [2, 4, 1, 5]
    (a, a_padding), (b, b_padding) = (sequences(s, seed, junk=5.0) for seed, s in enumerate(sizes))
    together = network(a, a_padding, b, b_padding)
    for row, (n, m) in enumerate(zip(*sizes, strict=True)):
        one = slice(row, row + 1)
        alone = network(a[one, :n], a_padding[one, :n], b[one, :m], b_padding[one, :m])
        assert torch.allclose(together[row], alone[0], atol=1e-5)


def test_what_stands_in_padding_gets_no_gradient():
    network = Esim(WIDTH, 2, hidden=HIDDEN, dropout=0.0)
    (a, a_padding), (b, b_padding) = sequences([3, 1], 1), sequences([1, 2], 2)
    a.requires_grad_()
    network(a, a_padding, b, b_padding).sum().backward()
    assert torch.isfinite(a.grad).all()
    assert not a.grad[a_padding].any() and a.grad[~a_padding].any(1).all()


def test_the_projection_narrows_what_the_recurrence_reads():
    assert Esim(WIDTH, 2, projection=3, hidden=HIDDEN).encode.lstm.input_size == 3
    assert Esim(WIDTH, 2, hidden=HIDDEN).encode.lstm.input_size == WIDTH
