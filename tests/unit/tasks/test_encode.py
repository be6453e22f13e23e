import logging

import numpy as np
import pytest

from fairseq_xling.data.folder import CLS, SEP, UNK
from fairseq_xling.errors import UserError
from fairseq_xling.tasks.items import Item

ITEM = Item("file.tsv", 3)


def test_words_have_their_ids_and_a_vanished_one_is_unknown(codec):
    one = codec()
    words = one.words(["dog", "the", "dog", "\u200b", "housedog"])
    assert [len(ids) for ids in words[:3]] == [1, 1, 1]
    assert words[0].tolist() == words[2].tolist() == one.text("dog").tolist()
    assert words[3].tolist() == [UNK]
    assert UNK in words[4]


def test_two_texts_are_framed_with_a_segment_each(codec):
    one = codec()
    ids, segments = one.frame(ITEM, np.array([7, 8]), np.array([9]))
    assert ids.tolist() == [CLS, 7, 8, SEP, 9, SEP]
    assert segments.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("lengths", [(9, 3), (3, 9), (8, 8), (20,), (0, 30), (5, 5)])
def test_what_is_too_long_is_cut_from_the_longer_one_until_it_fits_just_so(codec, lengths):
    one = codec(max_positions=12)
    texts = [np.arange(100 * k + 10, 100 * k + 10 + n) for k, n in enumerate(lengths)]
    # One id after the other from the longest (the first of several) is the obvious way.
    expected = list(lengths)
    while sum(expected) + 1 + len(lengths) > 12:
        expected[int(np.argmax(expected))] -= 1
    ids, segments = one.frame(ITEM, *texts)
    assert len(ids) == len(segments) == sum(expected) + 1 + len(lengths)
    for k, n in enumerate(expected):
        kept = ids[(ids >= 100 * k + 10) & (ids < 100 * k + 100)]
        assert abs(len(kept) - n) <= 1  # which of two equals loses one more is left open
        assert kept.tolist() == texts[k][: len(kept)].tolist()


def test_cut_items_are_counted_in_one_warning(codec, caplog):
    one = codec(max_positions=5)
    one.frame(ITEM, np.arange(10, 20))
    one.frame(Item("file.tsv", 9), np.arange(10, 20))
    with caplog.at_level(logging.WARNING):
        one.report()
        one.report()
    assert [record.getMessage() for record in caplog.records] == [
        "2 items are longer than the model's 5 positions and were cut; the first is file.tsv:3"
    ]


def test_or_refused(codec):
    message = "file.tsv:3: 12 tokens, more than the model's 5 positions"
    with pytest.raises(UserError, match=message):
        codec(max_positions=5, too_long="refuse").frame(ITEM, np.arange(10, 20))
