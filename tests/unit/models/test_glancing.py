"""How many words are shown, and which."""

import pytest
import torch

from fairseq_xling.models.glancing import share_at, show


@pytest.mark.parametrize(("share", "number"), [(0.0, 0), (0.5, 5), (1.0, 10)])
def test_a_share_of_what_is_wrong_is_shown_anywhere(share, number):
    torch.manual_seed(1)
    path = torch.arange(20).expand(400, -1).clone()
    guess = path.clone()
    guess[:, :10] += 1
    path[:, 16:] = -1
    shown = show(path, guess, share)
    assert (shown >= 0).sum(1).tolist() == [number] * 400
    assert torch.equal(shown[shown >= 0], path[shown >= 0])
    often = (shown >= 0).float().mean(0)
    assert often[16:].max() == 0
    assert torch.allclose(often[:16], torch.tensor(number / 16), atol=0.1)


def test_a_row_without_an_error_shows_nothing():
    path = torch.tensor([[3, 4, 5], [3, 4, 5]])
    guess = torch.tensor([[3, 4, 5], [0, 0, 0]])
    shown = show(path, guess, 1.0)
    assert shown.tolist() == [[-1, -1, -1], [3, 4, 5]]


def test_the_share_falls_evenly_and_stays_at_its_end():
    assert [share_at(n, 10, 0.6, 0.2) for n in (0, 5, 10, 99)] == pytest.approx(
        [0.6, 0.4, 0.2, 0.2]
    )
