"""How far vectors move, on models whose answer is known."""

import numpy as np
import pytest
import torch

from fairseq_xling.clcr.contexts import BETWEEN, CHANGES, context_shifts
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.errors import UserError
from tests.toy_clcr import toy, toy_pairs

COUNT = 30


def shifts(model, texts=None, side=0, **options):
    texts = toy_pairs(COUNT)[side] if texts is None else texts
    return context_shifts(model, side, texts, np.random.default_rng(1), **options)


@pytest.mark.row("C1")
@pytest.mark.parametrize("side", [0, 1])
def test_vectors_without_context_move_with_their_token_alone(side):
    found = shifts(toy(), side=side)
    assert (found["context"] == 0).all() and (found["neither"] == 0).all()
    assert (found["token"] > 1).all()
    assert found["token"].mean() == pytest.approx(found[BETWEEN].mean(), rel=0.3)


@pytest.mark.row("C1")
def test_vectors_of_the_context_alone_do_not_move_with_their_token():
    model = toy()
    encode = model._encode

    def others(sentences, side):
        states, content = encode(sentences, side)
        total = states.masked_fill(~content[..., None], 0.0).sum(1, keepdim=True)
        return total - states, content

    model._encode = others
    found = shifts(model, side=1, max_tokens=60)
    np.testing.assert_allclose(found["token"], 0, atol=1e-4)
    np.testing.assert_allclose(found["neither"], 0, atol=1e-4)
    assert (found["context"] > 1).mean() > 0.9


@pytest.mark.row("C1")
def test_vectors_that_depend_on_their_batch_move_though_nothing_was_replaced():
    model = toy()
    encode = model._encode

    def leaking(sentences, side):
        states, content = encode(sentences, side)
        return states + len(sentences), content

    model._encode = leaking
    assert shifts(model, side=1, max_tokens=60)["neither"].mean() > 1


def test_the_same_seed_replaces_the_same_words_whatever_the_global_one():
    torch.manual_seed(1), np.random.seed(1)
    first = shifts(toy())
    torch.manual_seed(2), np.random.seed(2)
    second = shifts(toy())
    assert all(np.array_equal(first[name], second[name]) for name in (*CHANGES, BETWEEN))


def test_sentences_too_short_for_a_context_are_left_out():
    one, two = np.array([SPECIALS, SEP]), np.array([SPECIALS, SPECIALS + 1, SEP])
    found = shifts(toy(), [one, two, two, np.array([SEP])])
    assert [len(values) for values in found.values()] == [2] * 4
    with pytest.raises(UserError, match="at least 2 sentences of 2 words or more, got 1"):
        shifts(toy(), [one, two])
    same = np.array([SPECIALS, SPECIALS, SEP])
    with pytest.raises(UserError, match="at least 2 different words"):
        shifts(toy(), [same, same])


def test_long_sentences_are_read_up_to_the_position_table():
    long = np.append(np.arange(100) % 12 + SPECIALS, SEP)
    found = shifts(toy(), [long, long])
    assert found["token"].shape == (2,) and (found["token"] > 0).all()


def test_cut_sentences_end_as_encoders_read_them():
    model, seen = toy(), []
    encode = model._encode

    def watched(sentences, side):
        seen.extend(ids[-1] for ids in sentences)
        return encode(sentences, side)

    model._encode = watched
    long = np.append(np.arange(100) % 12 + SPECIALS, SEP)
    shifts(model, [long, long])
    assert set(seen) == {SEP}
