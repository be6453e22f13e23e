import pytest
import torch

from fairseq_xling.analysis.words import (
    TypeMeans,
    find_words,
    span_means,
    word_scores,
)
from tests.random_tensors import normal as random


def test_mrr_equals_the_definition():
    source, target = random(20, 4), random(20, 4) + random(20, 4, seed=1)
    cosines = torch.cosine_similarity(source[:, None], target[None], dim=-1)
    ranks = [1 + int((row > row[i]).sum()) for i, row in enumerate(cosines)]
    mrr, top = word_scores(source, target, torch.arange(20).repeat(2, 1).T)
    assert mrr == pytest.approx(sum(1 / rank for rank in ranks) / 20)
    assert top == sum(rank == 1 for rank in ranks) / 20
    assert 0 < top < 1


def test_a_word_is_the_mean_of_its_subwords():
    states = random(2, 3, 6, 4)
    means = span_means(states, [(0, 1, 2), (2, 0, 3), (1, 4, 6)])
    assert torch.equal(means[:, 0], states[:, 0, 1])
    assert torch.allclose(means[:, 1], states[:, 2, 0:3].mean(1))
    assert torch.allclose(means[:, 2], states[:, 1, 4:6].mean(1))


def test_the_streaming_mean_equals_the_batch_mean():
    vectors, types = random(2, 300, 4), torch.arange(300) % 7
    streaming = TypeMeans(8, layers=2, width=4)
    for part in torch.arange(300).split(11):
        streaming.add(types[part], vectors[:, part])
    for kind in range(7):
        expected = vectors[:, types == kind].mean(1)
        assert torch.allclose(streaming.means()[:, kind], expected, atol=1e-6)
    assert streaming.counts.tolist() == [43] * 6 + [42, 0]
    assert streaming.means()[:, 7].abs().sum() == 0


def test_a_part_of_a_longer_word_is_no_occurrence():
    vocabulary = {(7,): 0, (7, 8): 1, (9,): 2}
    starts = [True, False, True, True, False]
    assert find_words([7, 8, 7, 7, 9], starts, vocabulary) == [(1, 0, 2), (0, 2, 3)]


def test_a_word_of_several_units_is_found_as_in_unsegmented_text():
    vocabulary = {(1, 2, 3): 0, (1,): 1, (3,): 2}
    assert find_words([1, 2, 3, 1, 2], [True] * 5, vocabulary) == [(0, 0, 3), (1, 3, 4)]
