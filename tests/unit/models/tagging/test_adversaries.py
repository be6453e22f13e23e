"""Gradient reversal, flipped labels, and what stands still in an update."""

import pytest
import torch

from fairseq_xling.models.tagging.adversaries import Settings, adversaries, reverse
from fairseq_xling.models.tagging.layers import Discriminator, language_loss
from tests.planted_tagging import draw, tagger


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 7.0])
def test_reversal_is_the_identity_forward_and_minus_the_weight_backward(weight):
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    gradient = torch.randn(3, 5, dtype=torch.float64)
    y = reverse(x, weight)
    assert torch.equal(y, x)
    y.backward(gradient)
    assert torch.equal(x.grad, -weight * gradient)
    assert weight or x.grad.eq(0).all()


def test_where_the_discriminator_is_undecided_the_flipped_gradient_is_minus_the_plain_one():
    discriminator = Discriminator(6, 4, [2, 3], 0.0)
    torch.nn.init.zeros_(discriminator.out.bias)
    target = torch.tensor([False, True, True])
    lengths = torch.tensor([4, 2, 1])
    gradients = []
    for labels in (target, ~target):
        h = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()
        logits = discriminator(h, lengths)
        language_loss(logits - logits.detach(), labels).backward()  # q = 0.5 everywhere
        gradients.append(h.grad)
    assert gradients[0].abs().sum() > 0
    assert torch.equal(gradients[0], -gradients[1])


def test_the_loss_is_that_of_smoothed_labels():
    logits, target = torch.tensor([0.5, -1.0]), torch.tensor([True, False])
    q = logits.sigmoid()
    plain = -(q[0].log() + (1 - q[1]).log()) / 2
    assert torch.isclose(language_loss(logits, target), plain)
    smooth = -(0.7 * q[0].log() + 0.3 * (1 - q[0]).log()) / 2
    smooth -= (0.3 * q[1].log() + 0.7 * (1 - q[1]).log()) / 2
    assert torch.isclose(language_loss(logits, target, 0.3), smooth)


@pytest.fixture
def world():
    tables = [torch.randn(20, 4, generator=torch.Generator().manual_seed(n)) for n in (1, 2)]
    classes = torch.arange(20).numpy() % 4
    parts = [draw(table, classes, 6, n, n) for n, table in enumerate(tables)]
    del parts[1]["tag"]
    return tables, parts


def losses_and_gradients(world, name, update, weight=1.0):
    tables, parts = world
    torch.manual_seed(1)
    model = tagger(tables, torch.eye(4), name, tagger="crf").train()
    losses = adversaries[name](Settings(steps=2))
    found = losses(model, parts, update, weight, lambda out: model.tagging_loss(out, parts))
    found.total.backward()
    return found, {n: p.grad for n, p in model.named_parameters()}


def test_without_an_adversary_there_is_no_discriminator(world):
    found, gradients = losses_and_gradients(world, "none", 0)
    assert not any(name.startswith("discriminator") for name in gradients)
    assert all(gradient is not None for gradient in gradients.values())
    assert found.total is found.tagging and found.logits is None


def test_reversal_subtracts_the_discriminators_gradient_in_the_encoder_alone(world):
    by_weight = {w: losses_and_gradients(world, "reversal", 0, w) for w in (0.0, 1.0, 2.0)}
    totals = [found.total for found, _ in by_weight.values()]
    assert torch.equal(totals[0], totals[1]) and torch.equal(totals[0], totals[2])
    zero, one, two = (gradients for _, gradients in by_weight.values())
    for name in zero:
        if name.startswith("encoder"):
            assert torch.allclose(two[name] - zero[name], 2 * (one[name] - zero[name]), atol=1e-6)
            assert not torch.allclose(one[name], zero[name], atol=1e-6)
        else:
            assert torch.equal(zero[name], two[name])


def test_flipped_labels_train_the_discriminator_and_the_rest_in_turns(world):
    for update in range(7):
        found, gradients = losses_and_gradients(world, "flip", update)
        reached = {
            name.startswith("discriminator") for name, g in gradients.items() if g is not None
        }
        assert reached == {update % 3 == 0}, update
        assert (found.tagging is None) == (update % 3 == 0)


def test_parameters_of_the_discriminator_can_be_trained_after_they_were_frozen(world):
    losses_and_gradients(world, "flip", 1)
    _, gradients = losses_and_gradients(world, "flip", 3)
    assert gradients["discriminator.out.weight"] is not None
