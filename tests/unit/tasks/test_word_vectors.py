"""Word vectors from both kinds of files."""

import numpy as np
import torch

from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.tasks.word_vectors import Lexicon, WordVectors, make_table, read_word_vectors

TABLE = np.arange(8, dtype=np.float32).reshape(4, 2)


def test_words_of_our_files_are_the_most_frequent_that_begin_a_word(tmp_path):
    symbols, counts = ["▁rare", "▁often", "piece", "▁never"], np.array([1, 9, 5, 0])
    write_vectors(tmp_path / "v.safetensors", Vectors(TABLE, counts, symbols))
    found = read_word_vectors(tmp_path / "v.safetensors", 10)
    assert list(found.words) == ["often", "rare"]
    assert np.array_equal(found.vectors, TABLE[[1, 0]])
    assert read_word_vectors(tmp_path / "v.safetensors", 1).words == ["often"]


def test_words_of_text_files_are_in_their_order(tmp_path):
    (tmp_path / "v.vec").write_text("3 2\nb 1 2\na 3 4\nc 5 6\n")
    found = read_word_vectors(tmp_path / "v.vec", 2)
    assert (list(found.words), found.vectors.tolist()) == (["b", "a"], [[1, 2], [3, 4]])
    assert found.counts.tolist() == [2, 1]


def test_the_first_row_of_a_table_is_zero_and_the_others_are_mapped():
    words, w = np.eye(2, dtype=np.float32), np.array([[0, 1], [-1, 0]], dtype=np.float32)
    table = make_table(WordVectors(["a", "b"], words, np.array([2, 1])), w)
    assert torch.equal(torch.from_numpy(table[1:]), torch.from_numpy(w))
    assert not table[0].any()


def test_a_word_is_looked_up_as_it_is_spelt_first():
    assert Lexicon(["apple", "Apple"]).rows(["Apple", "APPLE", "pear"]) == [2, 1, 0]
