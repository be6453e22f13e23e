"""Pieces that sentencepiece learns, and words that are cut once."""

import unicodedata

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.text import pieces
from fairseq_xling.text.pieces import WORD_MARK, Pieces, WordMemo, count_pieces, learn_pieces
from fairseq_xling.text.tokenizers.vocabulary import read_vocabulary

LINES = ["the cat sees the dog", "a dog sees a cat", "ö cat", "the ß dog"] * 5


def characters(pieces: Pieces) -> set[str]:
    return set("".join(pieces.symbols[1:]))


@pytest.mark.parametrize("letter", [b"\xc3(", b"\xff\xfe", b"\xed\xa0", b"\xc3\xc3"])
def test_a_piece_that_is_no_text_is_one_line_for_every_reader(tmp_path, letter):
    model = learn_pieces(LINES, 40, 12, "en", "unigram").replace("ö".encode(), letter)
    file = tmp_path / "sentencepiece.bpe.model"
    file.write_bytes(model)
    for read in (Pieces.load, lambda file: read_vocabulary(file.parent, 99, {})):
        with pytest.raises(UserError, match=rf"{file}: its piece \d+ must be UTF-8, got b'"):
            read(file)
    file.write_bytes(model[:99])
    with pytest.raises(UserError, match=f"^{file}: damaged or not a sentencepiece model$"):
        Pieces.load(file)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("limit", [3, 8, 12])
def test_the_alphabet_keeps_to_its_limit(kind, limit):
    pieces = Pieces(learn_pieces(LINES, 40, limit, "en", kind))
    assert 2 <= len(characters(pieces)) <= limit


def test_the_rarest_characters_become_unknown():
    pieces = Pieces(learn_pieces(LINES, 40, 10, "en", "bpe"))
    assert not {"ö", "ß"} & characters(pieces)
    ids, sizes = pieces.encode(["the cat", "ö"])
    assert sizes.tolist() == [int(sizes[0]), 2]
    assert 0 not in ids[: sizes[0]] and ids[-1] == 0


def test_without_a_limit_rare_characters_leave_room_for_longer_pieces():
    letters = [chr(0x4E00 + k) for k in range(60)]
    lines = ["abc abc abc abd"] * 15_000 + letters
    pieces = Pieces(learn_pieces(lines, 40, None, "zh", "bpe"))
    assert len(characters(pieces)) == 20  # half of 40; the 60 make up 0.03 % of the text
    assert f"{WORD_MARK}abc" in pieces.symbols


def test_without_a_limit_characters_that_matter_may_take_most_of_the_vocabulary():
    letters = [chr(0x4E00 + k) for k in range(30)]
    pieces = Pieces(learn_pieces([" ".join(letters)] * 20, 40, None, "zh", "bpe"))
    assert len(characters(pieces)) == 31


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_the_vocabulary_holds_at_most_what_was_asked(kind):
    pieces = Pieces(learn_pieces(LINES, 14, 12, "en", kind))
    assert 4 <= len(pieces) - 1 <= 14


def test_whole_words_are_the_most_frequent_and_unknown_ones_stay_apart():
    model = learn_pieces(["a a a b b c"], 2, 100, "en", "word", whole_words=True)
    pieces = Pieces(model, whole_words=True)
    assert pieces.symbols == ["<unk>", "▁a", "▁b"]
    ids, sizes = pieces.encode(["x a y z b", "", "c"])
    assert ids.tolist() == [0, 1, 0, 0, 2, 0]
    assert sizes.tolist() == [5, 0, 1]


def test_pieces_are_counted_over_all_blocks():
    pieces = Pieces(learn_pieces(["a b"], 2, 100, "en", "word", whole_words=True), whole_words=True)
    counts = count_pieces(pieces, ["a b a"] * 5000 + ["z"])
    assert pieces.symbols == ["<unk>", "▁a", "▁b"] and counts.tolist() == [1, 10_000, 5_000]


@pytest.mark.parametrize(
    ("lines", "size", "alphabet", "message"),
    [
        (LINES, 5, 11, r"must be at least the alphabet of en \(11 characters\), got 5"),
        (["", " \u200b"], 5, 5, "en: no text to learn a vocabulary from"),
        (LINES, 10**10, 20, r"learnt no vocabulary for en: .* \"10000000001\" as int"),
    ],
)
def test_a_vocabulary_that_cannot_be_learnt_is_one_line(lines, size, alphabet, message):
    with pytest.raises(UserError, match=message):
        learn_pieces(lines, size, alphabet, "en", "bpe")


def spelt(words: list[str]) -> list[list[int]]:
    return [[ord(letter) for letter in word] for word in words]


def slowly(lines: list[str]) -> tuple[list[int], list[int]]:
    letters = [[ord(x) for x in line.replace(" ", "")] for line in lines]
    return [x for line in letters for x in line], [len(line) for line in letters]


def numbers(found: tuple[np.ndarray, np.ndarray]) -> tuple[list[int], list[int]]:
    assert [array.dtype for array in found] == [np.int32, np.int64]
    return found[0].tolist(), found[1].tolist()


def random_lines(seed: int, count: int, words: int = 400) -> list[str]:
    rng = np.random.default_rng(seed)
    lexicon = ["".join(rng.choice(list("abcde"), rng.integers(0, 5))) for _ in range(words)]
    return [" ".join(rng.choice(lexicon, rng.integers(0, 9))) for _ in range(count)]


@pytest.mark.parametrize("budget", [0, 900, 1 << 20])
def test_a_line_is_its_words_whatever_is_remembered(monkeypatch, budget):
    monkeypatch.setattr(pieces, "_BUDGET", budget)
    monkeypatch.setattr(pieces, "_LINES", 7)
    memo = WordMemo(spelt)
    for seed in range(4):
        lines = random_lines(seed, 60)
        assert numbers(memo.encode(lines)) == slowly(lines)


@pytest.mark.parametrize(
    ("budget", "texts", "expected"),
    [
        (1 << 20, [["a b a", "b"], ["b c a"]], [["a", "b"], ["c"]]),
        # Two short words take 20; ef finds no room.
        (
            25,
            [["ab cd"], ["ef gh"], ["ab ef"], ["ab ef"]],
            [["ab", "cd"], ["ef", "gh"], ["ef"], ["ef"]],
        ),
    ],
)
def test_a_word_is_encoded_once_within_the_budget(monkeypatch, budget, texts, expected):
    monkeypatch.setattr(pieces, "_BUDGET", budget)
    calls: list[list[str]] = []
    memo = WordMemo(lambda words: calls.append(words) or spelt(words))
    for lines in texts:
        memo.encode(lines)
    assert calls == expected


def test_words_that_another_thread_adds_meanwhile_keep_their_pieces():
    others = [["c d"], ["e"]]

    def encode(words: list[str]) -> list[list[int]]:
        if others:  # another thread's lines, between this one's look at the table and its own words
            lines = others.pop()
            assert numbers(memo.encode(lines)) == slowly(lines)
        return spelt(words)

    memo = WordMemo(encode)
    for lines in (["ab cd"], ["ab cd"], ["c d e"]):
        assert numbers(memo.encode(lines)) == slowly(lines)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_are_those_of_the_whole_line(kind):
    """Every character that is no letter or digit, or that normalisation changes, at every place of
    a word; and the mark that sentencepiece itself writes for a space."""
    learnt = random_lines(0, 300) + ["´a ﬁb e\u0301 ½ 我c"] * 3
    pieces = Pieces(learn_pieces(learnt, 120, 30, "en", kind))
    odd = [
        c
        for c in map(chr, range(1, 0x3100))
        if c != "\n" and (unicodedata.category(c)[0] in "CMZ" or unicodedata.decomposition(c))
    ]
    lines = [f"ab {c} {c}c d{c} {c}{c} a{c}e" for c in odd]
    rng = np.random.default_rng(1)
    lines += ["".join(rng.choice([*odd, *" abe" * 500], 20)) for _ in range(100)]
    marks = [f"a{WORD_MARK} b", f"{WORD_MARK} {WORD_MARK}a", "a b"]
    for some in (lines, marks, ["", " ", "a  b "]):
        with pieces.remembering():
            ids, sizes = pieces.encode(some)
        expected = pieces._processor.encode(some, out_type=int)  # each whole line
        assert sizes.tolist() == list(map(len, expected))
        assert ids.tolist() == [i for line in expected for i in line]


@pytest.mark.parametrize(("kind", "expected"), [("bpe", True), ("unigram", False), ("word", False)])
def test_words_are_remembered_for_merges_alone_and_not_for_ever(kind, expected):
    pieces = Pieces(learn_pieces(random_lines(0, 300), 60, 30, "en", kind), kind == "word")
    assert pieces._memo is None
    with pieces.remembering():
        assert (pieces._memo is not None) == expected
    assert pieces._memo is None
