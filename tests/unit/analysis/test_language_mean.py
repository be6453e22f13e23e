import math

import pytest
import torch

from fairseq_xling.analysis.language_mean import LanguageMean, mean_difference
from fairseq_xling.core.errors import UserError
from tests.random_tensors import normal as random


def text(seed=0, offset=0.0):
    """States (3, 12, 7, 5) of 12 sentences of different lengths, and where their words are."""
    lengths = 1 + random(12, seed=seed + 50).abs().mul(2).long().clamp(max=5)
    words = torch.arange(7)[None] <= lengths[:, None]
    words[:, 0] = False
    return random(3, 12, 7, 5, seed=seed) + offset, words


def mean_of(*batches):
    mean = LanguageMean()
    for states, words in batches:
        mean.add(states, words)
    return mean


def test_it_equals_a_loop_over_tokens():
    states, words = text()
    tokens = [(b, t) for b in range(12) for t in range(7) if words[b, t]]
    assert len({int(row.sum()) for row in words}) > 2  # sentences of several lengths
    mean = mean_of((states, words))
    assert mean.count == len(tokens)
    for layer in range(3):
        expected = sum(states[layer, b, t].double() for b, t in tokens) / len(tokens)
        torch.testing.assert_close(mean.value()[layer], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("sizes", [1, 5, [2, 9, 1]])
def test_batches_of_any_size_and_order_give_the_mean_of_all(sizes, offset):
    states, words = text(offset=offset)
    batches = list(zip(states.split(sizes, 1), words.split(sizes), strict=True))
    whole = mean_of((states, words)).value()
    for order in (batches, batches[::-1]):
        assert (mean_of(*order).value() - whole).abs().max() < 1e-6
    assert (whole - states[:, words].double().mean(1)).abs().max() < 1e-6


def test_many_batches_lose_no_digits_to_a_large_mean():
    states = random(1, 1, 400, 3) + 1e4
    words = torch.ones(1, 400, dtype=torch.bool)
    repeated = mean_of(*[(states, words)] * 300).value()
    assert (repeated - states[0, 0].double().mean(0)).abs().max() < 1e-6


def test_specials_and_padding_do_not_influence_the_mean_whatever_they_hold():
    states, words = text()
    expected = mean_of((states, words)).value()
    for value in (1e9, math.inf, math.nan):
        spoilt = states.masked_fill(~words[None, :, :, None], value)
        assert torch.equal(mean_of((spoilt, words)).value(), expected)


def test_a_planted_language_vector_is_found_and_takes_states_across():
    states, words = text()
    vector = random(3, 5, seed=7)
    moved = states + vector[:, None, None]
    shift = mean_difference(mean_of((states, words)).value(), mean_of((moved, words)).value())
    torch.testing.assert_close(shift.float(), vector, atol=1e-6, rtol=0)


def test_a_language_without_tokens_has_no_mean():
    states, words = text()
    for mean in (LanguageMean(), mean_of((states, words & False))):
        with pytest.raises(UserError, match="needs at least 1 token, got 0"):
            mean.value()


def test_states_that_are_not_finite_are_refused_and_the_mean_stays():
    states, words = text()
    mean = mean_of((states, words))
    with pytest.raises(UserError, match="states must be finite, got NaN or infinity"):
        mean.add(states * math.nan, words)
    assert torch.equal(mean.value(), mean_of((states, words)).value())
    assert mean.count == int(words.sum())


def test_means_of_other_models_have_no_difference():
    with pytest.raises(UserError, match=r"same layers and width, got \(3, 5\) and \(2, 5\)"):
        mean_difference(torch.zeros(3, 5), torch.zeros(2, 5))
