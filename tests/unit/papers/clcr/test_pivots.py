"""The finest common granularity against every way of cutting a small pair into blocks.

Pseudo-gold pivots: mutual best pairs, thresholds, and what is refused.
"""

import itertools

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.pivots import (
    blocks_of_pairs,
    finest_blocks,
    mutual_best,
    pair_distances,
    tune_threshold,
)

LENGTH = 5


def closed_blocks(links):
    """All pairs of stretches that links do not leave, as tight as they can be."""
    stretches = [(a, b) for a in range(LENGTH) for b in range(a + 1, LENGTH + 1)]
    for (a, b), (c, d) in itertools.product(stretches, stretches):
        inside = [(a <= i < b, c <= j < d) for i, j in links]
        if all(x == y for x, y in inside) and any(x for x, _ in inside):
            held = [link for link, (x, _) in zip(links, inside, strict=True) if x]
            rows, columns = zip(*held, strict=True)
            if (min(rows), max(rows) + 1, min(columns), max(columns) + 1) == (a, b, c, d):
                yield (a, b, c, d), held


def partitions(links, candidates):
    """Every way of putting all links into closed blocks that do not touch."""
    if not links:
        yield []
        return
    for block, held in candidates:
        if links[0] in held:
            a, b, c, d = block
            apart = [
                (x, h)
                for x, h in candidates
                if (x[1] <= a or x[0] >= b) and (x[3] <= c or x[2] >= d)
            ]
            for rest in partitions([x for x in links if x not in held], apart):
                yield [block, *rest]


def slow(links):
    found = [sorted(p) for p in partitions(sorted(links), list(closed_blocks(links)))]
    most = max(map(len, found))
    finest = [p for p in found if len(p) == most]
    assert all(p == finest[0] for p in finest)  # there is but one
    return finest[0]


def fast(links, row=0):
    i, j = np.array(sorted(links)).T
    found = finest_blocks(np.full(len(i), row), i, j)
    return [tuple(map(int, block[1:])) for block in zip(*found, strict=True)]


def test_it_is_the_one_finest_way_of_cutting_random_alignments():
    rng = np.random.default_rng(0)
    for _ in range(120):
        grid = rng.random((LENGTH, LENGTH)) < rng.choice([0.1, 0.2, 0.4])
        links = [tuple(map(int, link)) for link in np.argwhere(grid)]
        if links:
            assert fast(links) == slow(links), links


def test_sentences_are_cut_apart_from_each_other():
    rng = np.random.default_rng(1)
    rows = []
    for row in range(40):
        links = np.argwhere(rng.random((4, 4)) < 0.3)
        rows += [(row, *map(int, link)) for link in links]
    row, i, j = np.array(rows).T
    together = [tuple(map(int, block)) for block in zip(*finest_blocks(row, i, j), strict=True)]
    alone = [
        (r, *block)
        for r in sorted(set(row.tolist()))
        for block in fast([(b, c) for a, b, c in rows if a == r])
    ]
    assert together == alone
    none = np.zeros(0, dtype=np.int64)
    assert all(len(part) == 0 for part in finest_blocks(none, none, none))


def triples(found):
    return sorted(zip(*(x.tolist() for x in found[:3]), strict=True))


def test_of_words_that_are_equally_near_the_first_is_the_partner():
    there = torch.ones(1, 2, dtype=torch.bool)
    d = torch.tensor([[[1.0, 1.0], [1.0, 5.0]]])
    assert triples(mutual_best(d, there, there)) == [(0, 0, 0)]


def test_mutual_best_is_what_two_loops_find_and_padding_takes_no_part():
    torch.manual_seed(0)
    d = torch.rand(4, 5, 6)
    mask1 = torch.arange(5) < torch.tensor([5, 3, 1, 0])[:, None]
    mask2 = torch.arange(6) < torch.tensor([6, 2, 4, 3])[:, None]
    slow = []
    for b in range(4):
        rows, columns = int(mask1[b].sum()), int(mask2[b].sum())
        for i in range(rows):
            for j in range(columns):
                nearest = d[b, i, j] == d[b, i, :columns].min() == d[b, :rows, j].min()
                slow += [(b, i, j)] if nearest else []
    assert triples(mutual_best(d, mask1, mask2)) == slow


def test_both_directions_count_in_the_distance():
    torch.manual_seed(0)
    r1, r2 = torch.randn(1, 2, 3), torch.randn(1, 4, 5)
    there, back = torch.randn(1, 2, 5), torch.randn(1, 4, 3)
    for norm, power in (("l1", 1), ("l2", 2)):
        d = pair_distances(r1, r2, there, back, norm)
        by_hand = torch.linalg.norm(there[0, 1] - r2[0, 3], power)
        by_hand = by_hand + torch.linalg.norm(back[0, 3] - r1[0, 1], power)
        torch.testing.assert_close(d[0, 1, 3], by_hand)


def test_the_tuned_threshold_is_the_best_of_all():
    rng = np.random.default_rng(0)
    distance = rng.integers(0, 30, 60) / 10
    block = np.where(rng.random(60) < 0.6, rng.integers(0, 40, 60), -1)

    def f1(threshold):
        kept = distance < threshold
        right, found = (block[kept] >= 0).sum(), len(set(block[kept].tolist()) - {-1})
        p, r = right / max(kept.sum(), 1), found / 40
        return 2 * p * r / (p + r) if p + r else 0.0

    tuned = tune_threshold(distance, block, 40)
    assert tuned.f1 == pytest.approx(max(f1(x) for x in np.arange(0, 3.2, 0.05)))
    assert tuned.f1 == pytest.approx(f1(tuned.threshold))


def test_a_threshold_cannot_be_tuned_where_nothing_is_known():
    for blocks, line in ((0, "no gold links to tune"), (3, "no pair of tokens is in a gold block")):
        with pytest.raises(UserError, match=line):
            tune_threshold(np.ones(2), np.array([-1, -1]), blocks)


def test_pairs_find_the_gold_block_that_they_lie_in():
    row, source, target = np.array([0, 0, 0, 2]), np.array([0, 1, 1, 3]), np.array([2, 0, 1, 3])
    blocks = finest_blocks(row, source, target)
    asked = np.array([(0, 0, 2), (0, 1, 1), (0, 1, 2), (2, 3, 3), (1, 0, 0), (2, 0, 0)])
    assert blocks_of_pairs(blocks, *asked.T).tolist() == [0, 1, -1, 2, -1, -1]
