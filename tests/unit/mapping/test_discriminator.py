import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.mapping.discriminator import Discriminator


def discriminator(dropout=0.0, seed=0):
    return Discriminator(6, 16, dropout, torch.Generator().manual_seed(seed))


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(10, 6, generator=generator), torch.rand(10, generator=generator)


def oracle(judge):
    """The same network by torch's own layers, with gradients."""
    weights = [w.clone().requires_grad_() for w in judge.weights]
    biases = [b.clone().requires_grad_() for b in judge.biases]

    def loss(x, labels):
        for weight, bias in zip(weights[:2], biases[:2], strict=True):
            x = F.leaky_relu(F.linear(x, weight.T, bias), 0.2)
        logits = F.linear(x, weights[2].T, biases[2]).squeeze(1)
        return F.binary_cross_entropy(torch.sigmoid(logits), labels), logits

    return weights, biases, loss


def test_an_update_is_a_step_of_sgd_on_the_mean_cross_entropy(batch):
    judge, (x, labels) = discriminator(), batch
    weights, biases, loss = oracle(judge)
    value, logits = loss(x, labels)
    torch.testing.assert_close(judge.logits(x), logits.detach())
    value.backward()
    judge.update(x, labels, lr=0.3)
    for ours, theirs in zip((*judge.weights, *judge.biases), (*weights, *biases), strict=True):
        torch.testing.assert_close(ours, (theirs - 0.3 * theirs.grad).detach())
        assert theirs.grad.abs().max() > 1e-4


def test_the_gradient_of_its_input_is_autograds(batch):
    judge, (x, labels) = discriminator(dropout=0.5), batch
    x = x.clone().requires_grad_()
    oracle(judge)[2](x, labels)[0].backward()
    torch.testing.assert_close(judge.input_gradient(x.detach(), labels), x.grad)


def test_dropout_drops_its_share_of_the_input_and_keeps_the_mean():
    judge = discriminator(dropout=0.25)
    seen = []
    judge._forward = lambda x: seen.append(x) or Discriminator._forward(judge, x)
    for _ in range(50):
        judge.update(torch.ones(200, 6), torch.zeros(200), lr=0.0)
    values = torch.stack(seen)
    assert sorted(values.unique().tolist()) == pytest.approx([0, 4 / 3])
    assert float((values == 0).double().mean()) == pytest.approx(0.25, abs=0.006)  # 3 sigma


def test_everything_random_comes_from_its_generator(batch):
    results = []
    for disturb in (1, 2):
        torch.manual_seed(disturb)
        judge = discriminator(dropout=0.5)
        judge.update(*batch, lr=0.1)
        results.append(judge.weights)
    for first, second in zip(*results, strict=True):
        assert torch.equal(first, second)


def test_first_weights_are_as_torch_would_draw_them():
    first = discriminator().weights[0]
    assert first.abs().max() <= 6**-0.5
    assert float(first.std()) == pytest.approx((2 * 6**-0.5) / 12**0.5, rel=0.15)
