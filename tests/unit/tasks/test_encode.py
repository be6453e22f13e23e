"""Rows of ids, and the positions of tokens in their text."""

import logging
import random

import numpy as np
import pytest

from fairseq_xling.data.folder import UNK
from fairseq_xling.tasks.encode import Codec, encode_located, locate
from fairseq_xling.tasks.items import Item
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.sources import parse_sources

ITEM = Item("file.tsv", 3)


def test_words_have_their_ids_and_a_vanished_one_is_unknown(codec):
    one = codec()
    words = one.words(["dog", "the", "dog", "\u200b", "housedog"])
    assert [len(ids) for ids in words[:3]] == [1, 1, 1]
    assert words[0].tolist() == words[2].tolist() == one.text("dog").tolist()
    assert words[3].tolist() == [UNK]
    assert UNK in words[4]


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


PARTS = "dog|U.S.|don't|½|东京|，|a|\u3000|  | |!!|é|\n|ﬁ|e\u0301".split("|")


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    """A codec whose pieces are learnt from texts made of the parts."""
    root = tmp_path_factory.mktemp("subwords")
    draw = random.Random(2)
    lines = [" ".join(draw.choices(PARTS, k=8)).replace("\n", " ") for _ in range(200)]
    (root / "en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sources = parse_sources(("en",), mono=[f"train.en={root / 'en'}"])
    options = PrepareOptions(("en",), vocab_size=40, segment={"en": "pre"}, aligner="none")
    prepare(root / "data", sources, options)
    return Codec(root / "data", "en", 512)


def random_text(draw):
    return "".join(draw.choices(PARTS, k=draw.randrange(1, 12))) + "x"


@pytest.mark.parametrize("name", segmentations)
def test_every_word_of_every_segmentation_is_found_as_it_is(name):
    draw = random.Random(1)
    for _ in range(100):
        text = random_text(draw)
        words = segmentations[name]([text.replace("\n", " ")])[0].split()
        begin, end = locate(words, text)
        assert [text[a:b] for a, b in zip(begin, end, strict=True)] == words
        assert (begin[1:] >= end[:-1]).all()


def test_every_letter_belongs_to_a_subword(subwords):
    draw = random.Random(3)
    for _ in range(200):
        text = random_text(draw)
        found = encode_located(subwords, text)
        words = subwords.segment(text.replace("\n", " "))
        assert found.ids.tolist() == np.concatenate(subwords.words(words)).tolist()
        assert len(found.begin) == len(found.end) == len(found.ids)
        assert (np.diff(found.begin) >= 0).all() and (np.diff(found.end) >= 0).all()
        assert (found.begin < found.end).all()
        covered = {k for a, b in zip(found.begin, found.end, strict=True) for k in range(a, b)}
        assert covered >= {k for k, letter in enumerate(text) if not letter.isspace()}


def test_the_tokens_of_a_span_are_those_that_share_a_letter_with_it(subwords):
    draw = random.Random(4)
    for _ in range(300):
        text = random_text(draw)
        found = encode_located(subwords, text)
        begin = draw.randrange(len(text))
        end = draw.randrange(begin, len(text)) + 1
        places = zip(found.begin, found.end, strict=True)
        shared = [k for k, (a, b) in enumerate(places) if max(a, begin) < min(b, end)]
        first, last = found.span(begin, end)
        assert list(range(first, last + 1)) == shared


def test_words_that_a_segmentation_spells_otherwise_are_found():
    begin, end = locate(["the", "2", "1/2", "dogs"], "The ２ ½  DOGS")
    assert (begin.tolist(), end.tolist()) == ([0, 4, 6, 9], [3, 5, 7, 13])


@pytest.mark.parametrize(
    ("units", "text", "expected"),
    [
        (["the", "dog", "ran", "the", "dog"], "the cat ran the dog", "the|cat|ran|the|dog"),
        (["zzz", "dog", "ran"], "the dog ran", "the|dog|ran"),
        (["the", "dog", "zzz"], "the dog [1]", "the|dog|[1]"),
        (["the", "x", "y", "ran"], "the big dog ran", "the|big dog|big dog|ran"),
        (["the", "q", "dog"], "the dog", "the|dog|dog"),
        (["the", "ran"], "the lazy dog ran", "the|ran"),
        (["q"], "dog", "dog"),
        (["the", "dog", ""], "the dog", "the|dog|dog"),
        (["", "the", "", "dog"], "the dog", "the|the|dog|dog"),
    ],
)
def test_a_word_that_is_not_there_shifts_none_after_it(units, text, expected):
    begin, end = locate(units, text)
    assert "|".join(text[a:b] for a, b in zip(begin, end, strict=True)) == expected


def test_whole_words_stand_for_themselves(codec):
    words = ["dog", "housedog", "\u200b"]
    assert codec().surfaces(words) == [["dog"], ["housedog"], ["\u200b"]]
    found = encode_located(codec(), "dog,\u200b housedog")
    assert (found.begin.tolist(), found.end.tolist()) == ([0, 3, 4, 6], [3, 4, 5, 14])
