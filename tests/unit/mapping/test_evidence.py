import pytest
import torch

from fairseq_xling.mapping.evidence import Evidence, find_evidence, shared_words
from fairseq_xling.mapping.space import Space


def test_words_of_unknown_strings_are_not_shared():
    named, nameless = (
        Space(torch.zeros(2, 1), torch.arange(2), ["a", "b"]),
        Space(torch.zeros(2, 1), torch.arange(2)),
    )
    assert shared_words(named, nameless).shape == (0, 2)
    assert shared_words(named, named).tolist() == [[0, 0], [1, 1]]


def test_found_words_are_counted_by_hand():
    generator = torch.Generator().manual_seed(0)
    fixed = torch.randn(200, 8, generator=generator)
    moving = fixed[:100].clone()
    pairs = torch.tensor([[0, 0], [1, 1], [2, 3], [3, 120], [150, 3], [4, 250]])
    found = find_evidence(moving, fixed, torch.eye(8), pairs)
    # The last two lie beyond the rows; two of the other four are their own nearest.
    assert (found.words, found.candidates, found.p_at_1) == (4, 200, 0.5)
    assert found.p_at_10 in (0.5, 0.75, 1.0)


def test_without_shared_words_there_is_no_evidence():
    found = find_evidence(torch.eye(3), torch.eye(3), torch.eye(3), torch.empty(0, 2).long())
    assert found == Evidence(0, 3, None, None)
    assert found.objection() is None


@pytest.mark.parametrize(
    ("words", "candidates", "p_at_10", "refused"),
    [
        (100, 1000, 0.01, True),  # what chance gives
        (100, 1000, 0.14, True),
        (100, 1000, 0.16, False),
        (1000, 8000, 0.03, True),  # above chance and yet of no use
        (30, 100, 0.2, True),  # not above chance where a tenth of all words is near
        (30, 100, 0.5, False),
        (19, 1000, 0.0, False),  # too few
        (20, 1000, 0.0, True),
        (50, 19, 0.0, False),  # most words are near: nothing can be shown
    ],
)
def test_a_map_is_refused_unless_it_beats_chance_clearly(words, candidates, p_at_10, refused):
    assert (Evidence(words, candidates, 0.0, p_at_10).objection() is not None) == refused
