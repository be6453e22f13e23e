"""Probes on planted vectors: what is in them is found, what is not stays at the prior."""

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.probing.fit import EdgeProbe, ProbeOptions, fit_probe, micro_scores, prior
from fairseq_xling.tasks.probing.states import Spans, label_matrix

WIDTH = 12
SMALL = {"hidden": 32, "projection": 16, "dropout": 0.0, "lr": 0.01, "epochs": 40, "batch_size": 32}


def planted(count=200, seed=0, spans=1, layers=1, informative=True, several=False):
    """Texts of 3 to 8 vectors. One token of each span is marked in component 0; the labels follow
    from its kind, one of four, in components 1 to 4 (of the last layer)."""
    rng = np.random.default_rng(seed)
    rows, places, labels = [], [], []
    for n in range(count):
        size, kinds, own = rng.integers(3, 9), [], []
        text = rng.normal(size=(layers, size, WIDTH)) * 0.3
        start = 8 * n
        for number in range(spans):
            first = 0 if number == 0 else size // 2
            end = size if spans == 1 else (size // 2 if number == 0 else size)
            token, kind = rng.integers(first, end), rng.integers(4)
            if informative:
                text[-1, token, 0] += 4
                text[-1, token, 1 + kind] += 3
            kinds.append(kind)
            own.append((start + first, start + end))
        padded = np.full((layers, 8, WIDTH), 1e6)  # between the texts: nobody may look there
        padded[:, :size] = text
        rows.append(padded)
        places.append(own)
        label = [f"k{sum(kinds) % 4}"]
        if several:
            label = [f"k{k}" for k in range(4) if k >= kinds[0]]
        labels.append(label)
    vectors = np.concatenate(rows, axis=1).astype(np.float32)
    return Spans(list(vectors), np.array(places), labels)


def fit(train, dev, **changes):
    return fit_probe(train, dev, ProbeOptions(**{**SMALL, **changes}))


def f1(probe, spans):
    return micro_scores(probe.predict(spans), spans.labels).f1


@pytest.mark.parametrize("classifier", ["linear", "mlp"])
def test_a_label_that_follows_from_one_token_of_the_span_is_found(classifier):
    probe = fit(planted(400), planted(100, 1), classifier=classifier)
    assert f1(probe, planted(200, 2)) == 1.0


def test_several_labels_or_none_are_found_together():
    probe = fit(planted(400, several=True), planted(100, 1, several=True))
    assert f1(probe, planted(200, 2, several=True)) == 1.0


def test_a_relation_of_two_spans_needs_both():
    train, dev, test = (planted(n, seed, spans=2) for seed, n in enumerate((1000, 100, 200)))
    assert f1(fit(train, dev, epochs=25), test) > 0.95
    one = [Spans(x.layers, x.places[:, :1], x.labels) for x in (train, dev, test)]
    assert f1(fit(*one[:2], patience=2), one[2]) < 0.5


def test_vectors_that_say_nothing_stay_near_the_prior():
    def biased(count, seed):
        found = planted(count, seed, informative=False)
        rng = np.random.default_rng(seed + 50)
        return Spans(found.layers, found.places, [["a" if rng.random() < 0.7 else "b"] for _ in
                                                  range(count)])  # fmt: skip

    train, dev, test = biased(600, 0), biased(200, 1), biased(1000, 2)
    base = micro_scores([[prior(train.labels)]] * len(test), test.labels).f1
    assert prior(train.labels) == "a" and 0.65 < base < 0.75
    assert abs(f1(fit(train, dev, dropout=0.3, patience=3), test) - base) < 0.06


def test_the_result_depends_on_the_seed_and_not_on_torchs_own_generator():
    train, dev = planted(80), planted(40, 1)
    torch.manual_seed(1)
    first = fit(train, dev, epochs=3, dropout=0.2)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = fit(train, dev, epochs=3, dropout=0.2)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.logits(dev), second.logits(dev))
    other = fit(train, dev, epochs=3, dropout=0.2, seed=2)
    assert not torch.equal(first.logits(dev), other.logits(dev))


def test_it_stops_when_dev_gains_nothing_and_takes_the_best_pass():
    train, dev = planted(60, informative=False), planted(40, 1, informative=False)
    probe = fit(train, dev, epochs=200, patience=3)
    assert len(probe.curve) < 60
    assert probe.curve[probe.epoch - 1] == max(probe.curve)
    assert f1(probe, dev) == max(probe.curve)


def test_examples_without_vectors_are_missed_and_change_nothing_else():
    train, dev = planted(80), planted(40, 1)
    holes = np.zeros((2, 1, 2), dtype=np.int64)
    more = Spans(
        train.layers, np.concatenate([holes, train.places]), [["k0"], ["new"], *train.labels]
    )
    probe, same = fit(more, dev, epochs=2), fit(train, dev, epochs=2)
    assert torch.equal(probe.logits(dev), same.logits(dev)) and "new" not in probe.names
    tested = Spans(dev.layers, np.concatenate([holes, dev.places]), [["k0"], ["k1"], *dev.labels])
    assert probe.predict(tested)[:2] == [[], []]
    scores, without = (micro_scores(probe.predict(x), x.labels) for x in (tested, dev))
    assert (scores.right, scores.predicted) == (without.right, without.predicted)
    assert scores.gold == without.gold + 2


def test_a_label_that_training_has_not_counts_as_missed():
    dev = planted(40, 1)
    labels = [["new"] if n < 10 else some for n, some in enumerate(dev.labels)]
    probe = fit(planted(400), dev)
    scores = micro_scores(probe.predict(dev), labels)
    assert scores.recall <= 0.75 and scores.gold == 40


def test_logits_do_not_depend_on_the_batch_nor_on_what_lies_outside_the_spans():
    probe, dev = fit(planted(80), planted(40, 1), epochs=1), planted(40, 1)
    alone = [probe.logits(Spans(dev.layers, dev.places[n : n + 1])) for n in range(40)]
    torch.testing.assert_close(torch.cat(alone), probe.logits(dev), atol=1e-5, rtol=1e-4)


def test_pooling_and_mixing_are_the_formula():
    torch.manual_seed(0)
    probe = EdgeProbe(2, WIDTH, 1, 3, projection=5, classifier="linear", dropout=0.0).eval()
    torch.nn.init.normal_(probe.mix)
    x, inside = torch.randn(1, 4, 2, WIDTH), torch.tensor([[True, True, True, False]])
    share = probe.mix.softmax(0)
    z = [probe.project[0](probe.scale * (share[0] * t[0] + share[1] * t[1])) for t in x[0, :3]]
    scores = torch.stack([probe.attend[0](one)[0] for one in z]).softmax(0)
    pooled = sum(weight * one for weight, one in zip(scores, z, strict=True))
    torch.testing.assert_close(probe([(x, inside)])[0], probe.classify(pooled[None])[0])


def test_a_label_matrix_has_what_is_known():
    assert label_matrix([], ["a"]).shape == (0, 1)
    assert label_matrix([["x"], []], ["a"]).tolist() == [[False], [False]]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UserError, match="unknown `--classifier` 'tree'"):
        ProbeOptions(classifier="tree")
    with pytest.raises(UserError, match=r"`--dropout` must lie in \[0, 1\), got 1.0"):
        ProbeOptions(dropout=1.0)


def test_spans_that_do_not_fit_are_refused():
    vectors = np.zeros((5, 3), dtype=np.float32)
    with pytest.raises(UserError, match="spans must lie in the 5 vectors"):
        Spans([vectors], np.array([[[0, 6]]]))
    with pytest.raises(UserError, match="places must be"):
        Spans([vectors], np.zeros((2, 2), dtype=np.int64))
    with pytest.raises(UserError, match="layers must be arrays"):
        Spans([vectors, vectors[:3]], np.array([[[0, 1]]]))
    with pytest.raises(UserError, match="labels for each of 1 examples, got 2"):
        Spans([vectors], np.array([[[0, 1]]]), [["a"], ["b"]])
    train = Spans([vectors], np.array([[[0, 1]]]), [["a"]])
    with pytest.raises(UserError, match="must have equally many spans, got 1 and 2"):
        fit(train, Spans([vectors], np.zeros((1, 2, 2), dtype=np.int64), [["a"]]))
    with pytest.raises(UserError, match="the same layers and width"):
        fit(train, Spans([vectors[:, :2]], train.places, [["a"]]))
    with pytest.raises(UserError, match="examples with labels, got some without"):
        fit(train, Spans([vectors], train.places))
    with pytest.raises(UserError, match="at least 1 labelled example with vectors, got 0"):
        fit(Spans([vectors], np.array([[[1, 1]]]), [["a"]]), train)
