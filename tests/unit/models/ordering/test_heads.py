"""The order heads: shapes, losses beside obvious ones, padding, and that they learn an order."""

import itertools
import math

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.ordering import order_heads
from fairseq_xling.models.ordering.relative import DISTANCES

HEADS = ["abs", "rel"]


def make(name, dim=16, seed=1, **options):
    torch.manual_seed(seed)
    return order_heads[name](dim, **options).eval()


def padded(sizes, dim=16, seed=1):
    """States (B, K, D), gold positions, both senseless at padding, and the mask."""
    generator = torch.Generator().manual_seed(seed)
    width = max(sizes)
    states = torch.full((len(sizes), width, dim), 5.0)
    positions = torch.full((len(sizes), width), 777)
    for row, size in enumerate(sizes):
        states[row, :size] = torch.randn(size, dim, generator=generator)
        positions[row, :size] = torch.rand(size, generator=generator).argsort()
    mask = torch.arange(width) >= torch.tensor(sizes)[:, None]
    return states, positions, mask


@pytest.mark.parametrize("layers", [0, 2])
@pytest.mark.parametrize("name", HEADS)
def test_a_sentence_alone_has_what_its_row_in_a_padded_batch_has(name, layers):
    sizes = [5, 1, 7]
    head = make(name, layers=layers)
    states, positions, mask = padded(sizes)
    scores = head(states, mask).detach()
    assert scores.dtype == torch.float32
    ranks = head.find(scores, mask).ranks
    loss, count = head.loss(scores, positions, mask)
    right, asked = head.correct(scores, positions, mask)
    sums = torch.zeros(4)
    for row, size in enumerate(sizes):
        one, gold = states[row : row + 1, :size], positions[row : row + 1, :size]
        alone = head(one).detach()
        assert torch.allclose(alone[0, :, :size], scores[row, :size, :size], atol=1e-5)
        assert head.find(alone).ranks.tolist() == [ranks[row, :size].tolist()]
        sums += torch.stack([*head.loss(alone, gold), *head.correct(alone, gold)]).float()
    assert sums.tolist() == pytest.approx([float(x) for x in (loss, count, right, asked)], rel=1e-5)


def test_the_absolute_loss_is_the_cross_entropy_among_the_positions_of_the_sentence():
    head = make("abs", positions=6)
    states, positions, mask = padded([4, 2])
    scores = head(states, mask).detach()
    assert scores.shape == (2, 4, 6)
    expected = 0.0
    for row, size in enumerate([4, 2]):
        for item in range(size):
            values = [math.exp(v) for v in scores[row, item, :size].tolist()]
            expected -= math.log(values[positions[row, item]] / sum(values))
        assert (scores[row, :size, size:] == -torch.inf).all()
    loss, count = head.loss(scores, positions, mask)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6
    positions[0, 1] = -1
    assert int(head.loss(scores, positions, mask)[1]) == 5


def test_the_relative_loss_is_the_mean_over_partners_summed_over_key_points():
    head = make("rel")
    states, positions, mask = padded([4, 2, 1])
    positions[0, 2] = -1
    scores = head(states, mask).detach()
    assert torch.allclose(scores, -scores.transpose(1, 2), atol=1e-6)
    expected = right = 0.0
    for row, items in enumerate([(0, 1, 3), (0, 1), (0,)]):
        for i in items:
            partners = [j for j in items if j != i]
            for j in partners:
                score = float(scores[row, i, j])
                first = bool(positions[row, i] < positions[row, j])
                p = 1 / (1 + math.exp(-score))
                expected -= math.log(p if first else 1 - p) / len(partners)
                right += ((score > 0) == first) / 2
    loss, count = head.loss(scores, positions, mask)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 5
    found, pairs = head.correct(scores, positions, mask)
    assert (float(found), int(pairs)) == (right, 4)


def test_the_habit_is_that_of_the_distance_and_all_far_ones_have_one():
    head = make("rel", layers=0)
    torch.nn.init.zeros_(head.query.weight)
    torch.nn.init.zeros_(head.query.bias)
    torch.nn.init.normal_(head.habit)
    size = DISTANCES + 4
    scores = head(torch.zeros(1, size, 16))[0]
    for i, j in ((0, 1), (3, 5), (0, DISTANCES), (0, size - 1)):
        habit = head.habit[min(j - i, DISTANCES) - 1].item()
        assert scores[i, j].item() == pytest.approx(habit)
        assert scores[j, i].item() == pytest.approx(-habit)
    assert (scores.diagonal() == 0).all()


@pytest.mark.parametrize("name", HEADS)
def test_with_no_gold_position_there_is_no_loss_but_a_gradient_of_zero(name):
    head = make(name)
    states, positions, mask = padded([3, 1])
    loss, count = head.loss(head(states, mask), torch.full_like(positions, -1), mask)
    assert (loss.item(), int(count)) == (0.0, 0)
    loss.backward()
    read = [p.grad for n, p in head.named_parameters() if not n.startswith("reader.layers")]
    assert all(grad is not None and bool((grad == 0).all()) for grad in read)


@pytest.mark.parametrize("name", HEADS)
def test_half_precision_scores_are_single(name):
    head = make(name).bfloat16()
    states, positions, mask = padded([3, 2])
    scores = head(states.bfloat16(), mask)
    assert scores.dtype == torch.float32
    assert bool(head.loss(scores, positions, mask)[0].isfinite())
    assert head.find(scores, mask).ranks.sort(1).values.tolist() == [[0, 1, 2]] * 2


def test_a_sentence_longer_than_the_table_is_refused_but_padding_is_not():
    head = make("abs", positions=4)
    mask = torch.tensor([[False] * 4 + [True] * 2])
    assert head(torch.zeros(1, 6, 16), mask).shape == (1, 6, 4)
    assert head.find(head(torch.zeros(1, 6, 16), mask), mask).ranks.shape == (1, 6)
    rule = "must be at least the key-points of a sentence, got 4 and a sentence with 6; train with"
    with pytest.raises(UserError, match=f"^`--order-positions` of `--order abs` {rule} more"):
        head(torch.zeros(1, 6, 16))
    with pytest.raises(UserError, match=r"^`positions` of a sentence with 3 key-points must lie"):
        head.loss(head(torch.zeros(1, 3, 16)), torch.tensor([[0, 3, 1]]))


@pytest.mark.parametrize("name", HEADS)
def test_a_sentence_of_padding_alone_spoils_no_gradient_in_bf16(name):
    head = make(name).train()
    states, positions, mask = padded([4, 0])
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = head.loss(head(states, mask), positions, mask)
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


@pytest.mark.parametrize("name", HEADS)
def test_empty_sentences_and_empty_batches_pass(name):
    head = make(name)
    states, mask = torch.zeros(2, 3, 16), torch.tensor([[True] * 3, [False] * 3])
    scores = head(states, mask).detach()
    assert not scores.isnan().any()
    assert head.find(scores, mask).ranks.shape == (2, 3)
    assert bool(head.loss(scores, torch.tensor([[9, 9, 9], [2, 0, 1]]), mask)[0].isfinite())
    none = head(torch.zeros(0, 3, 16))
    assert head.find(none).ranks.shape == (0, 3)


def test_large_products_in_half_precision_stay_finite():
    head = make("rel", dim=64).half()
    for product in (head.query, head.key):
        product.weight.data = 40 * torch.eye(64).half()
    states, _, mask = padded([6, 6], dim=64)
    assert head(states.half(), mask).isfinite().all()


def test_only_a_relative_order_counts_pairs_in_the_wrong_order():
    states, _, mask = padded([3])
    head = make("rel")
    scores = head(states, mask)
    signs = head.find(scores, mask, weigh="sign").cost
    assert float(signs) == round(float(signs))  # pairs in the wrong order
    message = "unknown weight of positions 'sign'; known: probability, likelihood"
    with pytest.raises(UserError, match=message):
        make("abs").find(make("abs")(states, mask), mask, weigh="sign")


def test_an_absolute_order_can_keep_the_largest_sum_of_probabilities():
    logits = 4 * torch.randn(20, 5, 5, generator=torch.Generator().manual_seed(1))
    orders = torch.tensor(list(itertools.permutations(range(5))))
    chosen = logits.softmax(-1)[:, torch.arange(5), orders]  # (20, orders, 5)
    head, found = make("abs"), {}
    for weigh, sums in (("probability", chosen.sum(2)), ("likelihood", chosen.log().sum(2))):
        ranks = head.find(logits, search="hungarian", weigh=weigh)
        assert torch.equal(ranks.ranks, orders[sums.argmax(1)])
        found[weigh] = ranks
    cost = 5 - chosen.sum(2).amax(1)
    assert found["probability"].cost.tolist() == pytest.approx(cost.tolist(), abs=1e-4)
    assert not torch.equal(found["probability"].ranks, found["likelihood"].ranks)
