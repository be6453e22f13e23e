"""The finest common granularity against every way of cutting a small pair into blocks."""

import itertools

import numpy as np
import pytest

from fairseq_xling.clcr.granularity import finest_blocks

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


@pytest.mark.row("C7")
def test_it_is_the_one_finest_way_of_cutting_random_alignments():
    rng = np.random.default_rng(0)
    for _ in range(120):
        grid = rng.random((LENGTH, LENGTH)) < rng.choice([0.1, 0.2, 0.4])
        links = [tuple(map(int, link)) for link in np.argwhere(grid)]
        if links:
            assert fast(links) == slow(links), links


@pytest.mark.row("C7")
@pytest.mark.parametrize(
    ("links", "blocks"),
    [
        ([(0, 1), (1, 0)], [(0, 1, 1, 2), (1, 2, 0, 1)]),
        ([(0, 0), (0, 1), (1, 1)], [(0, 2, 0, 2)]),
        ([(0, 0), (2, 0), (1, 3)], [(0, 3, 0, 4)]),  # a gap that another block would stand in
        ([(0, 0), (2, 0)], [(0, 3, 0, 1)]),  # a gap of unlinked tokens
        (
            [(0, 0), (1, 2), (2, 1), (3, 3)],
            [(n, n + 1, m, m + 1) for n, m in zip(range(4), (0, 2, 1, 3), strict=True)],
        ),
    ],
)
def test_blocks_of_alignments_known_by_hand(links, blocks):
    assert fast(links) == blocks


@pytest.mark.row("C7")
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


def test_no_links_are_no_blocks():
    none = np.zeros(0, dtype=np.int64)
    assert all(len(part) == 0 for part in finest_blocks(none, none, none))
