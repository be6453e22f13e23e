import numpy as np
import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.text.pieces import WORD_MARK, Pieces, learn_pieces

LINES = ["the cat sees the dog", "a dog sees a cat", "ö cat", "the ß dog"] * 5


def characters(pieces: Pieces) -> set[str]:
    return set("".join(pieces.symbols[1:]))


@pytest.mark.row("D3")
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


def test_a_vocabulary_smaller_than_its_alphabet_is_refused():
    message = r"`--vocab-size` must be at least the alphabet of en \(11 characters\), got 5"
    with pytest.raises(UserError, match=message):
        learn_pieces(LINES, 5, 11, "en", "bpe")


def test_text_without_words_is_refused():
    with pytest.raises(UserError, match="en: no text to learn a vocabulary from"):
        learn_pieces(["", " \u200b"], 5, 5, "en", "bpe")


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_the_same_text_gives_the_same_model(kind):
    rng = np.random.default_rng(0)
    lines = [" ".join("".join(rng.choice(list("abcdef"), 4)) for _ in range(9)) for _ in range(400)]
    first, second = (learn_pieces(lines, 200, 100, "en", kind) for _ in range(2))
    assert first == second


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


def test_a_block_is_encoded_as_its_lines_are():
    pieces = Pieces(learn_pieces(LINES, 30, 20, "en", "bpe"))
    lines = ["the dog", "", "cat sees", "  "]
    ids, sizes = pieces.encode(lines)
    single = [pieces.encode([line])[0].tolist() for line in lines]
    assert sizes.tolist() == [len(x) for x in single]
    assert ids.tolist() == [i for ids in single for i in ids]


def test_pieces_are_counted_over_all_blocks():
    pieces = Pieces(learn_pieces(["a b"], 2, 100, "en", "word", whole_words=True), whole_words=True)
    counts = pieces.count(["a b a"] * 5000 + ["z"])
    assert dict(zip(pieces.symbols, counts.tolist(), strict=True)) == {
        "<unk>": 1,
        "▁a": 10_000,
        "▁b": 5_000,
    }


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "x.model").write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"x\.model: not a sentencepiece model"):
        Pieces.load(tmp_path / "x.model")


def test_a_size_that_sentencepiece_cannot_count_to_is_refused():
    with pytest.raises(UserError, match=r"learnt no vocabulary for en: .* \"10000000001\" as int"):
        learn_pieces(LINES, 10**10, 20, "en", "bpe")
