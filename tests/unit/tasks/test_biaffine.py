"""Biaffine scores beside loops over pairs, in any precision."""

import pytest
import torch

from fairseq_xling.tasks.biaffine import (
    Perceptron,
    chosen_scores,
    new_weight,
    pair_scores,
)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("bias", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_all_pairs_and_chosen_pairs_equal_a_loop(bias):
    x, y, weight = drawn(2, 3, 4), drawn(2, 5, 6, seed=1), drawn(7, 4 + bias[0], 6 + bias[1])
    scores = pair_scores(x, weight, y)
    assert scores.shape == (2, 3, 5, 7) and scores.dtype == torch.float32
    for b in range(2):
        for i in range(3):
            for j in range(5):
                left = torch.cat([x[b, i], torch.ones(bias[0])])
                right = torch.cat([y[b, j], torch.ones(bias[1])])
                slow = torch.stack([left @ weight[k] @ right for k in range(7)]).float()
                torch.testing.assert_close(scores[b, i, j], slow, atol=1e-5, rtol=1e-5)
    chosen = chosen_scores(x[:, 0], weight, y[:, 2])
    torch.testing.assert_close(chosen, scores[:, 0, 2], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_half_precision_vectors_are_computed_in_float32(dtype):
    x, y, weight = (drawn(*shape).to(dtype) for shape in ((1, 3, 400), (1, 3, 400), (2, 400, 400)))
    exact = pair_scores(x.float(), weight.float(), y.float())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(pair_scores(x, weight, y), exact)
        assert chosen_scores(x[0], weight, y[0]).dtype == torch.float32


def test_a_new_weight_is_indifferent_but_learns_from_the_first_step():
    torch.manual_seed(0)
    left, right = Perceptron(6, 4, 0.0), Perceptron(6, 4, 0.0)
    weight, x = new_weight(2, 5, 4), torch.randn(1, 3, 6)
    scores = pair_scores(left(x), weight, right(x))
    assert not scores.any()
    scores[0, 0, 1, 1].backward()
    assert weight.grad[1].any() and not weight.grad[0].any()
