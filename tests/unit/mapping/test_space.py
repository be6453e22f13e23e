import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.normalize import centre
from fairseq_xling.mapping.space import Space
from fairseq_xling.mapping.vectors_file import Vectors


@pytest.fixture
def vectors():
    table = np.arange(10, dtype=np.float32).reshape(5, 2) ** 2
    return Vectors(table, np.array([0, 1, 9, 9, 0]), ["<s>", "▁rare", "▁b", "▁c", "▁never"])


def test_candidates_are_the_words_that_occur_most_frequent_first(vectors):
    space = Space.of(vectors)
    assert space.ids.tolist() == [2, 3, 1]
    assert list(space.symbols) == ["▁b", "▁c", "▁rare"]
    assert torch.equal(space.vectors, torch.from_numpy(vectors.vectors[[2, 3, 1]]))


def test_normalisation_sees_candidates_only(vectors):
    expected = centre(torch.from_numpy(vectors.vectors[[2, 3, 1]]))
    assert torch.equal(Space.of(vectors, "centre").vectors, expected)


def test_vectors_that_never_occur_are_no_space():
    with pytest.raises(UserError, match=r"^has no counts \(all are 0\), so no word is known to"):
        Space.of(Vectors(np.ones((2, 2), np.float32), np.zeros(2, np.int64)))
