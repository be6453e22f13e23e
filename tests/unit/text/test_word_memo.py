import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fairseq_xling.text import word_memo
from fairseq_xling.text.pieces import WORD_MARK, Pieces, learn_pieces
from fairseq_xling.text.word_memo import WordMemo


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
    monkeypatch.setattr(word_memo, "_BUDGET", budget)
    monkeypatch.setattr(word_memo, "_LINES", 7)
    memo = WordMemo(spelt)
    for seed in range(4):
        lines = random_lines(seed, 60)
        assert numbers(memo.encode(lines)) == slowly(lines)


def test_a_word_is_encoded_once():
    seen: list[str] = []

    def encode(words: list[str]) -> list[list[int]]:
        seen.extend(words)
        return spelt(words)

    memo = WordMemo(encode)
    memo.encode(["a b a", "b"])
    memo.encode(["b c a"])
    assert seen == ["a", "b", "c"]


def test_no_more_is_remembered_than_the_budget(monkeypatch):
    monkeypatch.setattr(word_memo, "_BUDGET", 25)
    calls: list[int] = []

    def encode(words: list[str]) -> list[list[int]]:
        calls.append(len(words))
        return spelt(words)

    memo = WordMemo(encode)
    for lines in (["ab cd"], ["ef gh ij"], ["ab ef"], ["ab ef"]):
        memo.encode(lines)
    assert calls == [2, 3, 1, 1]  # two short words take 20; ef finds no room


def test_threads_share_a_memo():
    memo = WordMemo(spelt)
    texts = [random_lines(seed, 80, words=500) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(memo.encode, texts))
    assert list(map(numbers, found)) == list(map(slowly, texts))


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


def alone(pieces: Pieces, lines: list[str]) -> list[list[int]]:
    """What sentencepiece makes of each whole line."""
    return pieces._processor.encode(lines, out_type=int)


@pytest.mark.row("D3")
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
    for some in (
        lines,
        [f"a{WORD_MARK} b", f"{WORD_MARK} {WORD_MARK}a", "a b"],
        ["", " ", "a  b "],
    ):
        with pieces.remembering():
            ids, sizes = pieces.encode(some)
        expected = alone(pieces, some)
        assert sizes.tolist() == list(map(len, expected))
        assert ids.tolist() == [i for line in expected for i in line]


def is_remembering(pieces: Pieces) -> bool:
    return pieces._memo is not None


@pytest.mark.parametrize(("kind", "expected"), [("bpe", True), ("unigram", False), ("word", False)])
def test_words_are_remembered_for_merges_alone_and_not_for_ever(kind, expected):
    pieces = Pieces(learn_pieces(random_lines(0, 300), 60, 30, "en", kind), kind == "word")
    assert not is_remembering(pieces)
    with pieces.remembering():
        assert is_remembering(pieces) == expected
    assert not is_remembering(pieces)
