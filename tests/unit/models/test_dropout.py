"""Our dropout on a CPU against what dropout is defined to do."""

import pytest
import torch

from fairseq_xling.models.dropout import SharedDropout, dropout, keep_mask


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_rate(rate):
    torch.manual_seed(0)
    kept = keep_mask(1_000_003, rate).double().mean().item()
    # Within five standard deviations of a million independent draws.
    assert abs(kept - (1 - rate)) < 5 * (rate * (1 - rate) / 1_000_003) ** 0.5


def test_neighbouring_elements_are_independent():
    torch.manual_seed(0)
    dropped = 1 - keep_mask(400_000, 0.3).double().view(-1, 4)  # four share one draw
    together = dropped.T @ dropped / len(dropped)
    expected = torch.full((4, 4), 0.09, dtype=torch.float64).fill_diagonal_(0.3)
    torch.testing.assert_close(together, expected, atol=0.006, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kept_elements_are_scaled_and_gradients_follow_the_same_mask(dtype):
    x = torch.ones(7, 33, dtype=dtype, requires_grad=True)
    out = dropout(x, 0.25)
    out.sum().backward()
    scaled = torch.tensor(1 / 0.75, dtype=dtype)
    assert set(out.flatten().tolist()) == {0.0, scaled.item()}
    assert torch.equal(x.grad, out.detach())


def test_the_default_generator_decides_the_outcome():
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_a_strided_input_is_masked_like_any_other():
    x = torch.arange(1.0, 13.0).view(3, 4).T.requires_grad_()
    torch.manual_seed(5)
    out = dropout(x, 0.5)
    out.backward(torch.ones_like(out))
    assert torch.allclose(out, torch.where(out == 0, 0.0, 2 * x))
    assert torch.equal(x.grad, torch.where(out == 0, 0.0, 2.0))


@pytest.mark.parametrize(("rate", "training"), [(0.0, True), (0.5, False)])
def test_nothing_is_dropped_without_a_rate_or_outside_training(rate, training):
    x = torch.randn(5, 5)
    assert torch.equal(dropout(x, rate, training), x) and dropout(x, 1.0).eq(0).all()


def test_dropout_takes_the_same_entries_of_all_words_of_a_sentence():
    torch.manual_seed(0)
    x, dropout = torch.ones(3, 5, 40), SharedDropout(0.5)
    out = dropout(x)
    assert torch.equal(out, out[:, :1].expand(-1, 5, -1))
    assert not torch.equal(out[0], out[1]) and set(out.unique().tolist()) == {0.0, 2.0}
    assert dropout.eval()(x) is x
