import math

import pytest
import torch

from fairseq_xling.analysis import vector_translation as module
from fairseq_xling.analysis.vector_translation import (
    nearest_by_distance,
    split_pairs,
    translation_vector,
    vector_translation,
)
from fairseq_xling.core.errors import UserError
from tests.random_tensors import normal as random


def brute_force(queries, targets):
    """The nearest target, one distance at a time; -1 for a tie."""
    result = []
    for query in queries.double():
        distances = [float(torch.dist(query, target)) for target in targets.double()]
        nearest = [j for j, d in enumerate(distances) if d <= min(distances) * (1 + 1e-12)]
        result.append(nearest[0] if len(nearest) == 1 else -1)
    return result


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_the_nearest_target_equals_brute_force_in_every_chunk_size(chunk):
    queries, targets = random(23, 5), random(31, 5, seed=1)
    targets[30] = targets[4]  # a pair of equal targets, in different blocks
    expected = brute_force(queries, targets)
    assert -1 in expected
    assert len(set(expected)) > 10
    assert nearest_by_distance(queries, targets, chunk).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_a_large_common_offset_changes_nothing(dtype):
    # Whole numbers, so that adding the offset itself rounds nothing.
    queries, targets = random(40, 8).mul(9).round(), random(50, 8, seed=1).mul(9).round()
    expected = brute_force(queries, targets)
    offset = 1024.0 if dtype == torch.float16 else 1e6
    found = nearest_by_distance((queries + offset).to(dtype), (targets + offset).to(dtype))
    assert found.tolist() == expected


def test_no_matrix_of_all_distances_is_ever_made(monkeypatch):
    sizes, topk = [], torch.Tensor.topk
    monkeypatch.setattr(
        torch.Tensor, "topk", lambda x, *a, **k: sizes.append(x.numel()) or topk(x, *a, **k)
    )
    nearest_by_distance(random(300, 4), random(200, 4, seed=1), chunk=32)
    assert len(sizes) > 100
    assert max(sizes) <= 32 * 32


def test_a_collapsed_encoder_finds_nothing():
    same = torch.full((50, 8), 0.1)
    assert nearest_by_distance(same, same, chunk=7).tolist() == [-1] * 50
    assert vector_translation(same[None], same[None] + 1).tolist() == [[0.0, 0.0]]


def test_the_vector_is_the_mean_difference_from_source_to_target():
    x, y = random(3000, 6) + 1e3, random(3000, 6, seed=1)  # more rows than a block
    expected = (y.double() - x.double()).mean(0)
    torch.testing.assert_close(translation_vector(x, y), expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(translation_vector(y, x), -expected, atol=1e-9, rtol=0)


def planted(count=400, width=16, noise=0.0):
    """Target = source + one offset, longer than most sentences are apart."""
    x, offset = random(2, count, width), 1.7 * random(width, seed=1)
    return x, x + offset + noise * random(2, count, width, seed=2)


def test_a_constant_offset_is_undone_completely_on_held_out_sentences():
    before, after = vector_translation(*planted()).T
    assert (before < 1 / 3).all()
    assert (before > 1 / 200).all()
    assert after.tolist() == [1.0, 1.0]


def test_a_random_direction_as_long_undoes_no_offset():
    before, control = vector_translation(*planted(), control=1).T
    assert (control < 1 / 3).all()
    assert not torch.equal(before, control)
    assert torch.equal(control, vector_translation(*planted(), control=1).T[1])


def test_noise_leaves_a_part_and_layers_have_vectors_of_their_own():
    x, y = planted(noise=0.7)
    y[1] = x[1] - 5
    accuracy = vector_translation(x, y)
    assert accuracy[0, 0] < accuracy[0, 1] < 1
    assert accuracy[1, 1] == 1.0
    _, test = split_pairs(400)
    learn = [i for i in range(400) if i not in set(test.tolist())]
    vector = (y[0, learn].double() - x[0, learn].double()).mean(0)
    found = torch.cdist(x[0, test].double() + vector, y[0, test].double()).argmin(1)
    assert float(accuracy[0, 1]) == float((found == torch.arange(200)).double().mean())


def test_held_out_sentences_do_not_take_part_in_the_vector(monkeypatch):
    x, y = planted(60)
    learn, test = split_pairs(60, 0.4, seed=3)
    seen = []
    real = translation_vector
    monkeypatch.setattr(module, "translation_vector", lambda a, b: seen.append(b) or real(a, b))
    vector_translation(x, y, held_out=0.4, seed=3)
    assert [torch.equal(b, side[learn]) for b, side in zip(seen, y, strict=True)] == [True, True]
    assert not set(learn.tolist()) & set(test.tolist())


def test_the_split_depends_on_its_seed_only_and_covers_all_rows():
    learn, test = split_pairs(101, 0.25, seed=5)
    assert sorted(learn.tolist() + test.tolist()) == list(range(101))
    assert len(test) == 25
    torch.manual_seed(99)  # the global generator has no say
    assert torch.equal(split_pairs(101, 0.25, seed=5)[1], test)
    assert not torch.equal(split_pairs(101, 0.25, seed=6)[1], test)


@pytest.mark.parametrize(
    ("count", "held_out", "message"),
    [
        (10, 0.0, "`held_out` must lie between 0 and 1, got 0.0"),
        (3, 0.3, "leave 1 pair to learn from and 2 to test on, got 0.3 of 3"),
        (2, 0.9, "leave 1 pair to learn from and 2 to test on, got 0.9 of 2"),
    ],
)
def test_a_split_without_pairs_is_refused(count, held_out, message):
    with pytest.raises(UserError, match=message):
        split_pairs(count, held_out)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_sentences_that_do_not_pair_up_or_are_not_finite_are_refused(value):
    x = random(2, 6, 4)
    for wrong in (x[0], x[:, :5], x[:1]):
        with pytest.raises(
            UserError, match=r"\(layers, pairs, width\) on both sides, got \(2, 6, 4\)"
        ):
            vector_translation(x, wrong)
    spoilt = x.clone()
    spoilt[1, 2, 1] = value
    for sides in ((x, spoilt), (spoilt, x)):
        with pytest.raises(UserError, match="must be finite, got NaN or infinity"):
            vector_translation(*sides)
