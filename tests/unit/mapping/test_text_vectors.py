import gzip

import numpy as np
import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.mapping.text_vectors import read_text_vectors

SYMBOLS = ["<s>", "▁a", "▁b", "s", "▁never"]


def read(tmp_path, text, symbols=SYMBOLS, specials=1):
    (tmp_path / "v.vec").write_text(text, encoding="utf-8")
    return read_text_vectors(tmp_path / "v.vec", symbols, specials)


def test_words_are_found_by_their_symbols(tmp_path):
    vectors, known = read(tmp_path, "4 2\n▁b 1 -2.5e-1\ns 3 4 \nother 5 6\n▁a 7 8\n<s> 9 9\n")
    assert known.tolist() == [False, True, True, True, False]
    assert vectors.tolist() == [[0, 0], [7, 8], [1, -0.25], [3, 4], [0, 0]]
    assert vectors.dtype == np.float32


def test_plain_words_stand_for_pieces_that_begin_a_word(tmp_path):
    vectors, known = read(tmp_path, "a 1 2\n##s 3 4\ns 5 6\n")
    assert known.tolist() == [False, True, False, True, False]
    assert vectors[[1, 3]].tolist() == [[1, 2], [3, 4]]


def test_the_first_of_a_word_counts_and_the_header_may_be_missing(tmp_path):
    vectors, _ = read(tmp_path, "▁a 1 2\n▁a 3 4\n")
    assert vectors[1].tolist() == [1, 2]


def test_compressed_files_are_read(tmp_path):
    with gzip.open(tmp_path / "v.vec.gz", "wt", encoding="utf-8") as file:
        file.write("1 2\n▁a 1 2\n")
    assert read_text_vectors(tmp_path / "v.vec.gz", SYMBOLS)[1].sum() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "v.vec: not a text file of vectors (a word and its numbers per line)"),
        ("word\n", "v.vec: not a text file of vectors (a word and its numbers per line)"),
        ("▁x 1 2\n▁a 1 two\n", "v.vec:2: not numbers after '▁a'"),
        ("▁x 1 2\n▁a 1\n", "v.vec:2: must have 2 finite numbers after '▁a', got 1"),
        (
            "▁x 1 2\n▁a 1 nan\n",
            "v.vec:2: must have 2 finite numbers after '▁a', got 2 with NaN or infinity",
        ),
        ("▁x 1 2\n▁y 3 4\n", "v.vec: has none of the 4 subwords"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        read(tmp_path, text)
    assert str(error.value) == f"{tmp_path}/{message}"
