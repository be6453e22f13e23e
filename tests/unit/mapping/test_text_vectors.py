import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.text_vectors import read_first_words, read_text_vectors

SYMBOLS = ["<s>", "▁a", "▁b", "s", "▁never"]


def read(tmp_path, text, symbols=SYMBOLS, specials=1):
    (tmp_path / "v.vec").write_text(text, encoding="utf-8")
    return read_text_vectors(tmp_path / "v.vec", symbols, specials)


def test_words_are_found_by_their_symbols(tmp_path):
    vectors, known = read(tmp_path, "5 2\n▁b 1 -2.5e-1\ns 3 4 \nother 5 6\n▁a 7 8\n<s> 9 9\n")
    assert known.tolist() == [False, True, True, True, False]
    assert vectors.tolist() == [[0, 0], [7, 8], [1, -0.25], [3, 4], [0, 0]]
    assert vectors.dtype == np.float32


def test_plain_words_stand_for_pieces_that_begin_a_word(tmp_path):
    vectors, known = read(tmp_path, "a 1 2\n##s 3 4\ns 5 6\n")
    assert known.tolist() == [False, True, False, True, False]
    assert vectors[[1, 3]].tolist() == [[1, 2], [3, 4]]


def test_the_header_may_be_missing_and_equal_rows_count_once(tmp_path):
    vectors, _ = read(tmp_path, "\ufeff▁a 1 2\n▁a 1 2.0\n\n")
    assert vectors[1].tolist() == [1, 2]


def test_a_plain_file_may_have_the_mark_as_a_word(tmp_path):
    vectors, known = read(tmp_path, "▁ 9 9\na 1 2\nb 3 4\n▁never 5 6\n", [*SYMBOLS, "▁"])
    assert known.tolist() == [False, True, True, False, False, False]
    assert vectors[1:3].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("header", ["", "6 2\n"])
def test_words_may_contain_blanks_and_other_spaces(tmp_path, header):
    text = f"{header}a 1 2\n. . . 3 4\n\u00a0 5 6\n  7 8\nin 2008 7 8\nb\u00a0c\t 9\t1 \r\n"
    words = ["a", ". . .", "\u00a0", "b\u00a0c", "2008", "in 2008"]
    vectors, known = read(tmp_path, text, [f"▁{word}" for word in words], 0)
    assert known.tolist() == [True, True, True, True, False, True]
    assert vectors[3].tolist() == [9, 1]


def test_the_first_words_of_a_file_of_subwords_are_those_with_the_mark(tmp_path):
    (tmp_path / "v.vec").write_text("4 1\ns 1\n▁a 2\n▁ 3\n▁b 4\n", encoding="utf-8")
    words, vectors = read_first_words(tmp_path / "v.vec", 2)
    assert (words, vectors.tolist()) == (["a", "b"], [[2], [4]])


def test_the_first_words_of_a_plain_file_are_all_of_them(tmp_path):
    rows = "".join(f"w{n} {n}\n" for n in range(30))
    (tmp_path / "v.vec").write_text(f"▁ 7\n▁x 8\n{rows}", encoding="utf-8")
    assert read_first_words(tmp_path / "v.vec", 3)[0] == ["▁", "▁x", "w0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "v.vec: not a text file of vectors (a word and its numbers per line)"),
        ("▁x 1 2\n▁a 1 two\n", "v.vec:2: not numbers after '▁a'"),
        ("▁x 1 2\n▁a 1\n", "v.vec:2: must be a word and 2 numbers, got 2 fields"),
        ("▁a 1 2\n▁x 3 4\n▁b 5", "v.vec:3: must be a word and 2 numbers, got 2 fields"),
        ("2 3\n▁a 1 2\n▁b 3 4\n", "v.vec:2: must be a word and 3 numbers, got 3 fields"),
        ("2 1\n▁a 1 2\n▁b 3 4\n", "v.vec:1: says that vectors have 1 numbers, but every row has"),
        ("3 2\n▁a 1 2\n▁b 3 4\n", "v.vec:1: says that there are 3 rows, but the file has 2; is"),
        ("▁a 1 2\n▁x 3 4\n▁a 5 6\n", "v.vec:3: must have another word than line 1, got '▁a'"),
        ("▁x 1 2\n▁a 1 nan\n", "v.vec:2: must have 2 finite numbers after '▁a', got NaN"),
        ("▁x 1 2\n▁y 3 4\n", "v.vec: has none of the 4 subwords"),
        ("▁a .50 .25\n▁x .75 -.50\n▁b .25 -.2", "v.vec:3: ends without a newline in '-.2', which"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/{message}")
