import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.features import (
    EncoderStates,
    VectorFiles,
    find_source,
)


def test_a_word_has_its_own_vector_or_that_of_small_letters_or_zeros(tmp_path):
    (tmp_path / "en.vec").write_text("3 2\nhouse 1 2\nHouse 3 4\nberlin 5 6\n")
    source = VectorFiles({"en": tmp_path / "en.vec"})
    found = source.vectors([["House", "Berlin"], ["new", "HOUSE"]], "en")
    values = [found.table[rows].tolist() for rows in found.rows]
    assert values == [[[3, 4], [5, 6]], [[0, 0], [1, 2]]]
    assert (found.width, found.unknown) == (2, 1)
    with pytest.raises(UserError, match="`--vectors` must name a file of de, got files of en"):
        source.vectors([["Haus"]], "de")


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_a_word_has_the_state_of_its_first_subword_or_the_mean_and_zeros_if_it_was_cut(pool):
    states = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)  # <s>, 4, </s>
    pieces = [np.zeros(1), np.zeros(2), np.zeros(2)]  # the last is cut after its first subword
    source = object.__new__(EncoderStates)
    source._pool = pool
    found = np.zeros((3, 3), dtype=np.float32)
    source._fill(found, states, pieces)
    expected = {
        "first": [states[1], states[2], states[4]],
        "mean": [states[1], states[2:4].mean(0), np.zeros(3)],
    }
    np.testing.assert_allclose(found, np.stack(expected[pool]), atol=1e-6)


def test_one_source_of_vectors_is_needed_for_the_feature_word_and_none_without_it():
    with pytest.raises(UserError, match="if `--features` has word, got neither"):
        find_source(True, {})
    with pytest.raises(UserError, match="if `--features` has word, got one"):
        find_source(False, {"en": "x.vec"})
    with pytest.raises(UserError, match="if `--features` has word, got both"):
        find_source(True, {"en": "x.vec"}, "encoder.pt")
