"""Sequences of a model whose modules are perfect by construction."""

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP
from fairseq_xling.papers.clcr.rows import RowOptions
from fairseq_xling.papers.clcr.sequence_variants import encode_block, rows
from tests.toy_clcr import FILLERS, PIVOTS, toy, toy_pairs

COUNT = 40


@pytest.fixture(scope="module")
def model():
    return toy()


def sequences(model, name, side, texts, **options):
    """By sentence, vectors and the tokens that they stand for."""
    row = rows[name](model, side, RowOptions(threshold=0.5, **options))
    vectors, counts, spans, _ = encode_block(model, row, side, texts, max_tokens=64)
    cuts = np.cumsum(counts)[:-1]
    return np.split(vectors, cuts), [part[:, 0].tolist() for part in np.split(spans, cuts)]


def both(model, name, **options):
    first, second, _ = toy_pairs(COUNT)
    pair = [first, second]
    texts = [pair, pair[::-1]] if rows[name].reads_translation else [[first], [second]]
    return [sequences(model, name, side, texts[side], **options) for side in (0, 1)]


def assert_alike(sequences, others, atol=1e-5):
    for ours, theirs in zip(sequences, others, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)


@pytest.mark.parametrize("name", ["T+E+R", "T+pGA"])
def test_perfect_modules_give_both_languages_the_same_sequences(model, name):
    (english, _), (german, _) = both(model, name)
    assert_alike(english, german)
    assert len(english[0]) == 0 and sum(map(len, english)) > COUNT


def test_without_reordering_they_are_the_same_vectors_in_another_order(model):
    (english, places), (german, _) = both(model, "T+E")
    same = 0
    for ours, theirs in zip(english, german, strict=True):
        np.testing.assert_allclose(
            ours[np.lexsort(ours.round(3).T)], theirs[np.lexsort(theirs.round(3).T)], atol=1e-4
        )
        same += np.allclose(ours, theirs, atol=1e-4)
    assert same < COUNT  # which reordering is needed for
    assert all(place == sorted(place) for place in places)


def test_either_language_can_be_the_one_that_is_reordered():
    model, head = toy(), toy().parts["order_rel"].head
    forward = head.forward
    head.forward = lambda *given: -forward(*given)  # the reverse of the order of the numbers
    model.parts["order_rel_second"] = module = torch.nn.Module()
    module.head = head
    (english, _), (german, _) = both(model, "T+E+R", reorder="second")
    (plain, _), (text, _) = both(model, "T+E")
    assert_alike(english, plain, atol=0)
    assert_alike(german, [one[::-1] for one in text])


def test_pseudo_gold_pivots_of_the_target_leave_the_other_language_as_in_row_t(model):
    (english, places), (german, _) = both(model, "T+pGA-target")
    (pivots, expected), _ = both(model, "T+pGA")
    _, (words, _) = both(model, "T")
    assert places == expected
    assert_alike(english + german, pivots + words, atol=0)
    assert sum(map(len, german)) > sum(map(len, english))


def test_pivots_of_either_language_can_be_those_that_are_reordered(model):
    (english, places), (german, moved) = both(model, "T+pGA", reorder="second")
    assert all(place == sorted(place) for place in places)
    assert any(place != sorted(place) for place in moved)
    assert_alike(english, german)


def test_without_extraction_every_word_has_its_vector(model):
    first, second, _ = toy_pairs(COUNT)
    (english, places), (german, _) = both(model, "T")
    assert [len(s) for s in english] == [len(ids) - 1 for ids in first]
    assert [len(s) for s in german] == [len(ids) - 1 for ids in second]
    assert places == [list(range(len(ids) - 1)) for ids in first]


def test_a_higher_delta_never_keeps_more(model):
    first, _, _ = toy_pairs(COUNT)
    counts = [
        sum(map(len, sequences(model, "T+E", 0, [first], delta=delta)[0]))
        for delta in (0.0, 0.2, 0.5, 1.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == sum(len(ids) - 1 for ids in first) and counts[-1] == 0


@pytest.mark.parametrize("name", ["T", "T+E", "T+E+R", "T+pGA"])
def test_sentences_do_not_depend_on_what_they_are_batched_with(model, name):
    first, second, _ = toy_pairs(6)
    texts = [first, second] if rows[name].reads_translation else [first]
    together, _ = sequences(model, name, 0, texts)
    for n, vectors in enumerate(together):
        alone, _ = sequences(model, name, 0, [[text[n]] for text in texts])
        np.testing.assert_allclose(alone[0], vectors, atol=1e-5)


def test_an_empty_sentence_has_no_vectors_and_one_beyond_the_position_table_is_cut_there(model):
    for name in ("T", "T+E", "T+E+R"):
        found, _ = sequences(model, name, 0, [[np.array([SEP])]])
        assert found[0].shape == (0, model.widths[1])
    long = np.append(np.arange(60) % (PIVOTS + FILLERS) + 6, SEP)
    found, _ = sequences(model, "T", 0, [[long]])
    assert len(found[0]) == model.positions - 2  # <s> and </s>


@pytest.mark.parametrize(
    ("name", "side", "options", "message"),
    [
        ("T+E+R", 0, {"order": "abs"}, "has no trained module 'order_abs', only transform"),
        ("T+E+R", 1, {"reorder": "second"}, "has no trained module 'order_rel_second', only"),
        ("T+E+R", 0, {"reorder": "secnod"}, "unknown `--reorder` 'secnod'; did you mean 'second'"),
        ("T+pGA", 0, {}, "`--threshold` of the pivots must be above 0"),
    ],
)
def test_what_a_row_needs_is_asked_for_at_once(model, name, side, options, message):
    with pytest.raises(UserError, match=message):
        rows[name](model, side, RowOptions(**options))


def test_a_language_of_another_pair_is_refused(model):
    with pytest.raises(UserError, match="is of en and de, not of 'fr'"):
        model.side("fr")


@pytest.mark.parametrize("delta", [7.0, -1.0, float("nan")])
def test_a_delta_of_a_checkpoint_that_is_no_share_is_refused(delta):
    model = toy()
    model.parts["extract"].delta = delta
    with pytest.raises(UserError, match=rf"`--delta` must .*, got {delta}"):
        sequences(model, "T+E", 0, [toy_pairs(COUNT)[0]])
