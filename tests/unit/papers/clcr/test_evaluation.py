"""Order BLEU on tensors: hand-counted swaps, sacrebleu, short sentences."""

import math

import pytest
import torch

from fairseq_xling.analysis.sampled_bleu import Sample, score
from fairseq_xling.papers.clcr.evaluation import ORDERS, OrderCounts, ngrams_kept


def order_bleu(predicted, gold):
    """Precisions and cumulative scores of orders by sacrebleu, by n; for sentences long enough."""
    texts = [
        [" ".join(map(str, order)) for order in pair] for pair in zip(gold, predicted, strict=True)
    ]
    found = score([Sample(n, "", *pair) for n, pair in enumerate(texts)], "none")
    kinds = [found["precisions"], found["cumulative"]]
    return [{n: values[n - 1] / 100 for n in ORDERS} for values in kinds]


def counted(*orders):
    """Counts of predicted orders, of the gold order 0, 1, ..."""
    counts = OrderCounts()
    for order in orders:
        counts.add(torch.tensor(order).argsort()[None], torch.arange(len(order))[None])
    return counts


@pytest.mark.parametrize(
    ("predicted", "shares"),
    [
        ([0, 1, 2, 3, 4, 5], (1, 1, 1)),
        ([1, 0, 2, 3, 4, 5], (3 / 5, 2 / 4, 1 / 3)),  # the first two
        ([0, 1, 3, 2, 4, 5], (2 / 5, 0, 0)),  # two in the middle: 0 1 and 4 5 stay
        ([5, 1, 2, 3, 4, 0], (3 / 5, 2 / 4, 1 / 3)),  # the ends
        ([3, 4, 5, 0, 1, 2], (4 / 5, 2 / 4, 0)),  # the halves
        ([5, 4, 3, 2, 1, 0], (0, 0, 0)),
    ],
)
def test_swaps_lose_the_ngrams_that_can_be_counted_by_hand(predicted, shares):
    found = counted(predicted)
    precisions, cumulative = order_bleu([predicted], [range(6)])
    for n, share in zip(ORDERS, shares, strict=True):
        mean = math.prod(shares[: n - 1]) ** (1 / n)  # of unigrams all are right
        assert found.precision(n) == pytest.approx(share) == precisions[n]
        assert found.cumulative(n) == pytest.approx(mean) == cumulative[n]


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
    precisions, _ = order_bleu(order, right)
    assert 0 < precisions[3] < precisions[2] < 1
    for n in ORDERS:
        kept, count = ngrams_kept(ranks, gold, n, padding)
        assert count.tolist() == [max(size - n + 1, 0) for size in sizes]
        assert float(kept.sum() / count.sum()) == pytest.approx(precisions[n])


def test_where_no_sentence_has_an_ngram_there_is_no_score():
    found = counted([1, 0, 2], [0])
    assert found.precision(3) == 0.0
    assert found.precision(4) is None and found.cumulative(4) is None
    kept, count = ngrams_kept(torch.zeros(2, 0).long(), torch.zeros(2, 0).long(), 2)
    assert kept.tolist() == count.tolist() == [0, 0]
