import dataclasses

import pytest
import torch

from fairseq_xling.mapping.adversarial import train_adversarial
from fairseq_xling.mapping.adversarial_options import AdversarialOptions
from fairseq_xling.mapping.csls import csls_criterion
from fairseq_xling.mapping.procrustes import orthogonality_error

SMALL = AdversarialOptions(hidden=32, epoch_size=4800, epochs=3)


def test_a_rotation_is_recovered_from_the_shapes_alone(planted):
    toy = planted(angle=1.2)
    fixed, moving = toy.fixed.clone(), toy.moving.clone()

    def criterion(w):
        return csls_criterion(moving @ w, fixed)

    identity = torch.eye(20)
    found = [train_adversarial(moving, fixed, SMALL, seed, criterion) for seed in range(1, 4)]
    w, epochs = max(found, key=lambda each: criterion(each[0]))
    assert torch.equal(fixed, toy.fixed)
    assert torch.equal(moving, toy.moving)
    assert toy.accuracy(identity) < 0.75
    assert toy.accuracy(w) > 0.9
    assert orthogonality_error(w) < 1e-5
    assert epochs[-1].criterion > epochs[0].criterion > criterion(identity)


def test_a_seed_alone_decides_the_result(planted):
    toy = planted(angle=0.5, rows=200)
    options = dataclasses.replace(SMALL, epoch_size=320, epochs=2)

    def found(seed, disturb):
        torch.manual_seed(disturb)
        return train_adversarial(toy.moving, toy.fixed, options, seed, lambda w: float(w[0, 1]))

    (first, epochs), (again, others), (other, _) = found(1, 3), found(1, 4), found(2, 3)
    assert torch.equal(first, again)
    assert epochs == others
    assert not torch.equal(first, other)


def test_the_learning_rate_decays_and_halves_from_the_second_fall_on(planted):
    toy = planted(angle=0.5, rows=100)
    values = iter([0.5, 0.6, 0.4, 0.7, 0.3, 0.2])
    options = dataclasses.replace(SMALL, epoch_size=32, epochs=6)
    _, epochs = train_adversarial(toy.moving, toy.fixed, options, 1, lambda w: next(values))
    factors = [0.98, 0.98, 0.98, 0.98, 0.98 * 0.5]  # falls: after epochs 3 (forgiven), 5 and 6
    expected = [0.1]
    for factor in factors:
        expected.append(expected[-1] * factor)
    assert [epoch.lr for epoch in epochs] == pytest.approx(expected)
    assert [epoch.criterion for epoch in epochs] == [0.5, 0.6, 0.4, 0.7, 0.3, 0.2]


def test_the_best_epochs_map_is_kept(planted):
    toy, seen = planted(angle=0.5, rows=100), []

    def criterion(w):
        seen.append(w)
        return [0.5, 0.9, 0.7][len(seen) - 1]

    options = dataclasses.replace(SMALL, epoch_size=320, epochs=3)
    w, _ = train_adversarial(toy.moving, toy.fixed, options, 1, criterion)
    assert torch.equal(w, seen[1])
    assert not torch.equal(seen[1], seen[2])


def test_rare_words_are_not_shown(planted):
    toy = planted(angle=0.5, rows=100)
    options = dataclasses.replace(SMALL, epoch_size=640, epochs=1, most_frequent=60)

    def found(rare):
        sides = [torch.cat([x[:60], rare.expand(40, -1)]) for x in (toy.moving, toy.fixed)]
        return train_adversarial(*sides, options, 1, lambda w: 0.0)[0]

    assert torch.equal(found(torch.zeros(20)), found(torch.full((20,), 1e6)))


def test_a_map_that_explodes_ends_the_game(planted):
    toy = planted(angle=0.5, rows=100)
    moving, fixed = 1e4 * toy.moving, 1e4 * toy.fixed
    options = dataclasses.replace(SMALL, epoch_size=640, epochs=3)
    w, epochs = train_adversarial(moving, fixed, options, 1, lambda w: 0.0)
    assert epochs == []
    assert torch.equal(w, torch.eye(20))


def test_a_stronger_pull_keeps_the_map_of_the_game_nearer_to_orthogonal(planted):
    toy = planted(angle=1.2, rows=300)
    spans = []
    for beta in (0.0, 0.001, 0.05):
        options = dataclasses.replace(SMALL, epoch_size=6400, epochs=1, beta=beta)
        _, epochs = train_adversarial(toy.moving, toy.fixed, options, 1, lambda w: 0.0)
        spans.append(max(abs(value - 1) for value in epochs[0].singular_values))
    assert spans[0] > spans[1] > spans[2]
    assert spans[2] < 0.1
