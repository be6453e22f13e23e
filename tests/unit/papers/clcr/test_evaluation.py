"""Order BLEU: hand-counted swaps, sacrebleu beside the tensors, short sentences."""

import math

import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.papers.clcr.evaluation import ORDERS, ngrams_kept, order_bleu


@pytest.mark.row("C13", "G19")
def test_the_gold_order_itself_has_1_in_every_reading():
    found = order_bleu([[2, 0, 3, 1, 4], [1, 0, 2, 3]], [[2, 0, 3, 1, 4], [1, 0, 2, 3]])
    assert found.precisions == pytest.approx({2: 1.0, 3: 1.0, 4: 1.0})
    assert found.cumulative == pytest.approx({2: 1.0, 3: 1.0, 4: 1.0})
    assert (found.brevity_penalty, found.sentences) == (1.0, 2)
    assert "tok:none" in found.signature


@pytest.mark.row("C13", "G19")
@pytest.mark.parametrize(
    ("predicted", "shares"),
    [
        ([1, 0, 2, 3, 4, 5], (3 / 5, 2 / 4, 1 / 3)),  # the first two
        ([0, 1, 3, 2, 4, 5], (2 / 5, 0, 0)),  # two in the middle: 0 1 and 4 5 stay
        ([5, 1, 2, 3, 4, 0], (3 / 5, 2 / 4, 1 / 3)),  # the ends
        ([3, 4, 5, 0, 1, 2], (4 / 5, 2 / 4, 0)),  # the halves
        ([5, 4, 3, 2, 1, 0], (0, 0, 0)),
    ],
)
def test_swaps_lose_the_ngrams_that_can_be_counted_by_hand(predicted, shares):
    found = order_bleu([predicted], [[0, 1, 2, 3, 4, 5]])
    assert list(found.precisions.values()) == pytest.approx(shares)
    for n in ORDERS:
        mean = math.prod(shares[: n - 1]) ** (1 / n)  # of unigrams all are right
        assert found.cumulative[n] == pytest.approx(mean)


@pytest.mark.row("C13")
def test_counts_on_tensors_are_those_of_sacrebleu():
    generator = torch.Generator().manual_seed(1)
    sizes = [9, 3, 1, 0, 6]
    gold, ranks = torch.full((5, 9), -7), torch.full((5, 9), 99)
    for row, size in enumerate(sizes):
        gold[row, :size] = torch.rand(size, generator=generator).argsort()
        # Near the gold order, so that there is something to count.
        near = gold[row, :size] + 2 * torch.rand(size, generator=generator)
        ranks[row, :size] = near.argsort().argsort()
    padding = torch.arange(9) >= torch.tensor(sizes)[:, None]
    order = [torch.argsort(r[:n]).tolist() for r, n in zip(ranks, sizes, strict=True)]
    right = [torch.argsort(g[:n]).tolist() for g, n in zip(gold, sizes, strict=True)]
    found = order_bleu(order, right)
    assert 0 < found.precisions[3] < found.precisions[2] < 1
    for n in ORDERS:
        kept, count = ngrams_kept(ranks, gold, n, padding)
        assert count.tolist() == [max(size - n + 1, 0) for size in sizes]
        assert float(kept.sum() / count.sum()) == pytest.approx(found.precisions[n])


def test_fewer_key_points_than_gold_ones_pay_for_brevity():
    found = order_bleu([[0, 1, 2]], [[0, 1, 2, 3, 4, 5]])
    assert found.precisions[2] == pytest.approx(1.0)
    assert found.brevity_penalty == pytest.approx(math.exp(-1))
    assert found.cumulative[2] == pytest.approx(math.exp(-1))


def test_where_no_sentence_has_an_ngram_there_is_no_score():
    found = order_bleu([[1, 0, 2], [0]], [[0, 1, 2], [0]])
    assert found.precisions[3] == 0.0
    assert math.isnan(found.precisions[4])
    assert math.isnan(found.cumulative[4])
    assert all(map(math.isnan, order_bleu([], []).precisions.values()))
    kept, count = ngrams_kept(torch.zeros(2, 0).long(), torch.zeros(2, 0).long(), 2)
    assert kept.tolist() == count.tolist() == [0, 0]


def test_every_sentence_needs_its_gold_order():
    with pytest.raises(UserError) as error:
        order_bleu([[0]], [])
    assert str(error.value) == (
        "order BLEU compares as many predicted as gold sentences, got 1 and 0"
    )
