"""ESIM against loops over sequences one by one; padding and empty sequences change nothing.

Entailment learnt from frozen sequences: order is what counts, and chance is a local affair.
"""

import math

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.classify import Pairs, fit_esim
from fairseq_xling.tasks.esim import (
    Esim,
    EsimOptions,
    shuffled_batches,
)
from tests.sequence_folder import FOLLOWS, OrderTask, write_folder

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


OPTIONS = {"hidden": 16, "dropout": 0.1, "lr": 0.01, "epochs": 12, "patience": 12}


def make(root, task, name, count=None, drawn=None, lang="en", **how):
    """Pairs of the task as folders."""
    pairs, labels = drawn or task.draw(count)
    sides = (
        write_folder(root / f"{name}.{n}", [task.sequence(pair[n], lang, **how) for pair in pairs])
        for n in (0, 1)
    )
    return Pairs(*sides, np.array([int(label == FOLLOWS) for label in labels]))


def accuracy(trained, pairs):
    return float((trained.predict(pairs) == pairs.labels).mean())


def test_where_order_decides_the_right_order_transfers_and_a_shuffled_one_does_not(tmp_path):
    task = OrderTask()
    train, dev = (make(tmp_path, task, name, n) for name, n in (("train", 500), ("dev", 100)))
    drawn = task.draw(200)
    right = make(tmp_path, task, "right", drawn=drawn, lang="xx")
    shuffled = make(tmp_path, task, "shuffled", drawn=drawn, lang="xx", shuffled=1.0)
    trained = fit_esim(train, dev, 2, EsimOptions(**OPTIONS))
    assert accuracy(trained, right) > 0.95
    assert 0.35 < accuracy(trained, shuffled) < 0.65


def small(root, seed=0, count=40):
    task = OrderTask(seed)
    return [make(root, task, f"{name}{seed}", count) for name in ("train", "dev")]


def test_the_seed_decides_and_nothing_else(tmp_path):
    train, dev = small(tmp_path)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    options = EsimOptions(hidden=4, epochs=2)
    first = fit_esim(train, dev, 2, options)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(7), np.random.rand(3)
    again = fit_esim(train, dev, 2, options)
    other = fit_esim(train, dev, 2, EsimOptions(hidden=4, epochs=2, seed=2))
    assert torch.equal(first.logits(dev), again.logits(dev))
    assert not torch.equal(first.logits(dev), other.logits(dev))


def test_the_best_pass_on_dev_is_kept_and_training_ends_without_a_gain(tmp_path):
    train, dev = small(tmp_path)
    passes = []
    trained = fit_esim(
        train, dev, 2, EsimOptions(hidden=4, epochs=30, patience=2), passed=passes.append
    )
    assert passes == trained.curve and len(passes) < 30
    assert max(passes) == passes[trained.epoch - 1]
    assert accuracy(trained, dev) == pytest.approx(max(passes))


def test_pairs_without_label_are_not_trained_on_and_count_as_wrong_on_dev(tmp_path):
    train, dev = small(tmp_path)
    unknown = np.where(np.arange(40) < 20, train.labels, -1)
    some = Pairs(train.premises, train.hypotheses, unknown)
    assert fit_esim(some, dev, 2, EsimOptions(hidden=4, epochs=1)).epoch == 1
    none = Pairs(train.premises, train.hypotheses, np.full(40, -1))
    trained = fit_esim(train, none, 2, EsimOptions(hidden=4, epochs=1))
    assert trained.curve == [0.0]
    with pytest.raises(UserError, match="must have at least 1 labelled pair, got 0"):
        fit_esim(none, dev, 2, EsimOptions(hidden=4))


def test_empty_sequences_are_learnt_from_and_predicted(tmp_path):
    vectors = [np.zeros((0, 3)), np.ones((2, 3)), np.ones((1, 3)), np.zeros((0, 3))]
    premises = write_folder(tmp_path / "p", vectors)
    hypotheses = write_folder(tmp_path / "h", vectors[2:] + vectors[:2])
    pairs = Pairs(premises, hypotheses, np.array([0, 1, 0, 1]))
    trained = fit_esim(pairs, pairs, 2, EsimOptions(hidden=3, epochs=2, batch_size=2))
    assert torch.isfinite(trained.logits(pairs)).all()


def test_every_pair_is_in_one_batch_and_batches_hold_pairs_of_about_one_length():
    sizes = np.random.default_rng(0).integers(1, 40, 640)
    usable = np.arange(0, 640, 2)
    generator = np.random.default_rng(1)
    batches = list(shuffled_batches(sizes, usable, 8, generator))
    assert sorted(np.concatenate(batches)) == usable.tolist()
    assert np.mean([np.ptp(sizes[batch]) for batch in batches]) < 3
    again = list(shuffled_batches(sizes, usable, 8, generator))
    assert not np.array_equal(np.concatenate(batches), np.concatenate(again))


def test_folders_that_do_not_fit_the_labels_are_refused(tmp_path):
    train, _ = small(tmp_path)
    short = write_folder(tmp_path / "short", [np.ones((1, 8))])
    with pytest.raises(UserError, match="must have equally many sentences, got 40 and 1"):
        Pairs(train.premises, short, train.labels)
    with pytest.raises(UserError, match="a sentence for each of 3 labelled pairs, got 40"):
        Pairs(train.premises, train.hypotheses, train.labels[:3])


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match=r"`--dropout` must lie in \[0, 1\), got 1.0"):
        EsimOptions(dropout=1.0)
