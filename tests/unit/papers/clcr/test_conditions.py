"""Distances of sequences against loops over single vectors.

How far vectors move, on models whose answer is known.
"""

from functools import partial

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.papers.clcr.conditions import (
    BETWEEN,
    CHANGES,
    context_shifts,
    distances,
    random_partners,
    sequence_distances,
)
from tests.sequence_folder import write_folder
from tests.toy_clcr import toy, toy_pairs

COUNTS_X, COUNTS_Y = [3, 1, 0, 5, 2], [2, 4, 3, 5, 0]


def folders(root, width=4):
    generator = np.random.default_rng(0)
    found = [
        [generator.normal(size=(count, width)).astype("float32") for count in counts]
        for counts in (COUNTS_X, COUNTS_Y)
    ]
    return found, [write_folder(root / name, one) for name, one in zip("xy", found, strict=True)]


def norm(vector, name):
    return sum(abs(vector)) if name == "l1" else float(np.sqrt(sum(vector**2)))


def one_way(x, y, name, tau):
    """The mean over y of how far each vector is from its mixture of x."""
    total = 0.0
    for query in y:
        a = np.array([-norm(key - query, name) for key in x])
        if tau == 0:
            mixed = x[int(a.argmax())]
        else:
            shares = np.exp(a / tau) / np.exp(a / tau).sum()
            mixed = sum(share * key for share, key in zip(shares, x, strict=True))
        total += norm(mixed - query, name)
    return total / len(y)


def by_position(x, y, name):
    pairs = list(zip(x, y, strict=False))
    return sum(norm(first - second, name) for first, second in pairs) / len(pairs)


@pytest.mark.parametrize("name", ["l1", "l2"])
@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_distances_are_those_of_loops_whatever_the_batch(tmp_path, name, tau):
    (x, y), sides = folders(tmp_path)
    pairs = np.array([[i, j] for i in range(5) for j in range(5)])
    ways = [partial(distances[way], norm=name, tau=tau) for way in ("matched", "positions")]
    for size in (1, 7, 100):
        matched, placed = (sequence_distances(*sides, pairs, way, size) for way in ways)
        for (i, j), d, p in zip(pairs, matched, placed, strict=True):
            if not (COUNTS_X[i] and COUNTS_Y[j]):
                assert np.isnan(d) and np.isnan(p)
                continue
            both = one_way(x[i], y[j], name, tau) + one_way(y[j], x[i], name, tau)
            assert d == pytest.approx(both / 2, abs=1e-5)
            assert p == pytest.approx(by_position(x[i], y[j], name), abs=1e-5)


def test_a_sequence_is_nearest_to_itself_in_any_order_whatever_all_vectors_share(tmp_path):
    generator = np.random.default_rng(0)
    sizes = generator.uniform(0.1, 9.0, size=(20, 6, 1))  # of norms far apart, beside an offset
    vectors = (sizes * generator.normal(size=(20, 6, 4)) + 30).astype("float32")
    x = write_folder(tmp_path / "x", [*vectors])
    y = write_folder(tmp_path / "y", [one[generator.permutation(6)] for one in vectors])
    matched = partial(distances["matched"], norm="l2", tau=0.0)
    own = sequence_distances(x, y, np.stack([np.arange(20)] * 2, 1), matched, 7)
    assert (own == 0).all()
    other = sequence_distances(x, y, random_partners(20, 1, generator), matched, 7)
    assert (other > 0.1).all()


def test_no_sentence_meets_its_own_translation_and_each_is_drawn_as_often():
    pairs = random_partners(6, 3, np.random.default_rng(0))
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert all((np.bincount(side) == 3).all() for side in pairs.T)


COUNT = 30


def shifts(model, texts=None, side=0, **options):
    texts = toy_pairs(COUNT)[side] if texts is None else texts
    return context_shifts(model, side, texts, np.random.default_rng(1), **options)


@pytest.mark.parametrize("side", [0, 1])
def test_vectors_without_context_move_with_their_token_alone(side):
    found = shifts(toy(), side=side)
    assert (found["context"] == 0).all() and (found["neither"] == 0).all()
    assert (found["token"] > 1).all()
    assert found["token"].mean() == pytest.approx(found[BETWEEN].mean(), rel=0.3)


def encoding(change):
    """The model with other states: ``change`` of the sentences, their states and content."""
    model = toy()
    encode = model._encode

    def changed(sentences, side):
        states, content, source = encode(sentences, side)
        return change(sentences, states, content), content, source

    model._encode = changed
    return model


def test_vectors_of_the_context_alone_do_not_move_with_their_token():
    def others(sentences, states, content):
        return states.masked_fill(~content[..., None], 0.0).sum(1, keepdim=True) - states

    found = shifts(encoding(others), side=1, max_tokens=60)
    np.testing.assert_allclose(found["token"], 0, atol=1e-4)
    np.testing.assert_allclose(found["neither"], 0, atol=1e-4)
    assert (found["context"] > 1).mean() > 0.9


def test_vectors_that_depend_on_their_batch_move_though_nothing_was_replaced():
    model = encoding(lambda sentences, states, content: states + len(sentences))
    assert shifts(model, side=1, max_tokens=60)["neither"].mean() > 1


def test_the_same_seed_replaces_the_same_words_whatever_the_global_one():
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed), np.random.seed(seed)
        found.append(shifts(toy()))
    assert all(np.array_equal(found[0][name], found[1][name]) for name in (*CHANGES, BETWEEN))


def test_sentences_too_short_for_a_context_are_left_out():
    one, two = np.array([SPECIALS, SEP]), np.array([SPECIALS, SPECIALS + 1, SEP])
    found = shifts(toy(), [one, two, two, np.array([SEP])])
    assert [len(values) for values in found.values()] == [2] * 4
    with pytest.raises(UserError, match="at least 2 sentences of 2 words or more, got 1"):
        shifts(toy(), [one, two])
    same = np.array([SPECIALS, SPECIALS, SEP])
    with pytest.raises(UserError, match="at least 2 different words"):
        shifts(toy(), [same, same])


def test_long_sentences_are_cut_at_the_position_table_and_end_as_encoders_read_them():
    seen = []

    def watched(sentences, states, content):
        seen.extend(ids[-1] for ids in sentences)
        return states

    long = np.append(np.arange(100) % 12 + SPECIALS, SEP)
    found = shifts(encoding(watched), [long, long])
    assert found["token"].shape == (2,) and (found["token"] > 0).all()
    assert set(seen) == {SEP}
