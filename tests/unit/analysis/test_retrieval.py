import pytest
import torch

from fairseq_xling.analysis.retrieval import (
    collect_vectors,
    retrieval_accuracy,
    sentence_vectors,
)
from tests.random_tensors import normal as random


def test_vectors_equal_a_loop_over_words():
    states = random(3, 4, 6, 5)
    words = random(4, 6, seed=1) > 0
    words[:, 0] = True
    vectors = sentence_vectors(states, words)
    for layer in range(3):
        for b in range(4):
            kept = [states[layer, b, t] for t in range(6) if words[b, t]]
            assert torch.allclose(vectors[layer, b], sum(kept) / len(kept), atol=1e-6)


def test_specials_and_padding_do_not_influence_a_vector_whatever_they_hold():
    states, words = random(2, 3, 5, 4), torch.ones(3, 5, dtype=torch.bool)
    words[:, [0, 4]] = False
    expected = sentence_vectors(states, words)
    for value in (1e9, float("inf"), float("nan")):
        spoilt = states.clone()
        spoilt[:, :, [0, 4]] = value
        assert torch.equal(sentence_vectors(spoilt, words), expected)


def test_a_sentence_without_words_gives_a_zero_vector():
    vectors = sentence_vectors(torch.ones(1, 1, 2, 3), torch.zeros(1, 2, dtype=torch.bool))
    assert vectors.abs().sum() == 0


def test_batches_in_any_order_and_size_give_the_same_vectors():
    states, words = random(2, 7, 3, 4), torch.ones(7, 3, dtype=torch.bool)
    whole = collect_vectors([(range(7), states, words)], 7)
    order = [4, 0, 6, 1, 5, 2, 3]
    pieces = [(part, states[:, part], words[part]) for part in (order[:2], order[2:3], order[3:])]
    assert torch.equal(collect_vectors(pieces, 7), whole)


def test_accuracy_equals_brute_force_in_both_directions():
    x = random(2, 30, 6)
    y = x + random(2, 30, 6, seed=1)
    accuracy = retrieval_accuracy(x, y, chunk=4)
    for layer in range(2):
        cosines = torch.cosine_similarity(x[layer][:, None], y[layer][None], dim=-1)
        right = torch.arange(30)
        forward = (cosines.argmax(1) == right).double().mean()
        backward = (cosines.argmax(0) == right).double().mean()
        assert accuracy[layer].tolist() == [forward, backward]
        assert 0 < forward < 1
        assert forward != backward


def test_no_sentences_is_an_error():
    with pytest.raises(ValueError, match="no sentences"):
        collect_vectors([], 0)
