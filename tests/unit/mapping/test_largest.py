"""The largest of rows and columns, found block by block, against sorting the whole matrix."""

import pytest
import torch

from fairseq_xling.mapping import largest as module
from fairseq_xling.mapping.largest import Block, Largest, largest_of_both, largest_of_rows


def normal(rows, width=6, seed=0):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double()


def check(found, products, k):
    values, index = products.sort(1, descending=True)
    torch.testing.assert_close(found.values, values[:, :k], atol=1e-12, rtol=0)
    assert found.index.tolist() == index[:, :k].tolist()


@pytest.mark.parametrize("chunk", [3, 8, 13, 100])
@pytest.mark.parametrize(("k_x", "k_y"), [(1, 1), (5, 2), (2, 7), (40, 60)])
def test_blocks_give_what_sorting_gives(chunk, k_x, k_y):
    x, y = normal(61), normal(83, seed=1)
    by_x, by_y = largest_of_both(x, y, k_x, k_y, chunk)
    check(by_x, x @ y.T, k_x)
    check(by_y, y @ x.T, k_y)
    check(largest_of_rows(x, y, k_x, chunk), x @ y.T, k_x)


def test_more_than_there_are_gives_all():
    x, y = normal(4), normal(3, seed=1)
    by_x, by_y = largest_of_both(x, y, 10, 10, 2)
    assert by_x.values.shape == (4, 3) and by_y.values.shape == (3, 4)
    check(by_x, x @ y.T, 3)


@pytest.mark.parametrize("rising", [True, False])
def test_any_order_of_the_rows_gives_the_same(rising):
    # Rising products are the worst case: everything in a block is above what came before.
    y = torch.arange(1.0, 201.0).double()[:, None]
    x = normal(50, 1).abs()
    y = y if rising else y.flip(0)
    check(largest_of_rows(x, y, 3, 16), x @ y.T, 3)


def test_only_what_is_above_the_mark_is_sorted(monkeypatch):
    in_full, singles = [], []
    take_all, take = Largest._take_all, Largest._take
    monkeypatch.setattr(Largest, "_take_all", lambda s, *a: in_full.append(1) or take_all(s, *a))
    monkeypatch.setattr(Largest, "_take", lambda s, *a: singles.append(len(a[0])) or take(s, *a))
    x, y = normal(512), normal(512, seed=1)
    largest_of_both(x, y, 2, 2, 64)
    blocks = (512 // 64) ** 2
    assert len(in_full) < blocks  # of rows and of columns: it would be twice as many
    assert sum(singles) < blocks * 64 * 64 / 10


def test_room_that_was_used_before_leaves_no_trace():
    block = Block(8, torch.zeros(0).double())
    for seed, shape in enumerate([(5, 8), (5, 3), (8, 8), (2, 7)]):
        x, y = normal(shape[0], seed=seed), normal(shape[1], seed=seed + 9)
        assert torch.equal(block.product(x, y), x @ y.T)


@pytest.mark.parametrize("crowd", [0, 10**9])
def test_whatever_is_sorted_in_full_the_result_is_the_same(monkeypatch, crowd):
    monkeypatch.setattr(module, "_CROWD", crowd)
    x, y = normal(140), normal(170, seed=1)
    by_x, by_y = largest_of_both(x, y, 3, 3, 40)
    check(by_x, x @ y.T, 3)
    check(by_y, y @ x.T, 3)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 48, 50])
@pytest.mark.parametrize("dim", [0, 1])
def test_groups_leave_nothing_over(monkeypatch, size, dim):
    monkeypatch.setattr(module, "_CROWD", 0)
    best = Largest.none(4, 2, torch.zeros(0).double())
    scores = normal(4, 100 + size)
    best.offer(scores[:, :100], torch.arange(100))
    later = scores[:, 100:].contiguous()
    best.offer(later if dim else later.T.contiguous(), torch.arange(100, 100 + size), dim)
    check(best, scores, 2)
