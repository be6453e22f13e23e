import numpy as np
import pytest
import torch

from fairseq_xling.analysis import extracted
from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.states import Selection, States


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(size=(9, 3)).astype("float32")


def test_all_rows_come_in_blocks_without_those_of_blank_lines(rows, write_states, monkeypatch):
    monkeypatch.setattr(extracted, "_BLOCK", 2)
    rows[[2, 3, 7]] = 0
    states = States(write_states("de", {4: rows}))
    blocks = list(states.vectors(4))
    assert all(len(block) and block.dtype == torch.float64 for block in blocks)
    np.testing.assert_array_equal(torch.cat(blocks), rows[rows.any(1)].astype("float64"))


def test_vectors_are_rows_or_means_of_rows(rows, write_states):
    states = States(write_states("de", {0: rows}))
    np.testing.assert_array_equal(states.take(0, Selection(np.array([5, 1]))), rows[[5, 1]])
    chosen = Selection(np.array([8, 0, 1, 2, 8]), np.array([1, 3, 1]))
    assert len(chosen) == 3
    expected = [rows[8], rows[:3].mean(0), rows[8]]
    np.testing.assert_allclose(states.take(0, chosen), expected, rtol=1e-6)


def test_a_value_that_is_not_finite_is_found(rows, write_states, monkeypatch):
    monkeypatch.setattr(extracted, "_BLOCK", 2)
    rows[5, 1] = np.nan
    states = States(write_states("de", {1: rows}))
    message = "layer01.npy: must be finite, got NaN or infinity in row 5"
    with pytest.raises(UserError, match=message):
        list(states.vectors(1))
    with pytest.raises(UserError, match=message):
        states.take(1, Selection(np.array([2, 5])))
    assert len(states.take(1, Selection(np.array([2, 6])))) == 2


def test_nothing_but_blank_lines_is_refused(rows, write_states):
    states = States(write_states("de", {0: rows * 0}))
    with pytest.raises(UserError, match=r"layer00.npy: all its vectors are zero"):
        list(states.vectors(0))
