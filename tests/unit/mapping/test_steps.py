import pytest
import torch

from fairseq_xling.mapping.normalize import NORMALIZATIONS, normalize
from fairseq_xling.mapping.steps import apply_steps, fit_steps, lost_in_steps, passes, undo_steps


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(1)
    return 3 + torch.randn(50, 6, generator=generator, dtype=torch.float64) * torch.arange(1, 7)


@pytest.mark.parametrize("steps", [*NORMALIZATIONS, "unit,centre,unit", "centre,scale", "none"])
def test_every_normalisation_in_blocks_gives_what_it_gives_of_the_whole(rows, steps):
    found = fit_steps(lambda: rows.split(7), steps)
    torch.testing.assert_close(apply_steps(rows, found), normalize(rows, steps), rtol=0, atol=1e-13)


def test_vectors_are_read_once_for_each_mean(rows):
    readings = []

    def blocks():
        readings.append(1)
        return rows.split(20)

    for steps in [*NORMALIZATIONS, "none"]:
        readings.clear()
        fit_steps(blocks, steps)
        assert len(readings) == passes(steps)


def test_new_vectors_are_treated_one_by_one(rows):
    found = fit_steps(lambda: [rows[:30]], "iterative")
    together = apply_steps(rows[30:], found)
    alone = torch.cat([apply_steps(row[None], found) for row in rows[30:]])
    torch.testing.assert_close(together, alone)
    # Not the means of the new ones: by hand, with those of the old.
    x, new = rows[:30], rows[30:]
    for _ in range(5):
        x, new = x / x.norm(dim=1, keepdim=True), new / new.norm(dim=1, keepdim=True)
        x, new = x - x.mean(0), new - x.mean(0)
    torch.testing.assert_close(together, new)


@pytest.mark.parametrize("steps", [*NORMALIZATIONS, "centre,scale", "none"])
def test_what_the_steps_take_away_is_given_back(rows, steps):
    found = fit_steps(lambda: [rows], steps)
    lost = lost_in_steps(rows, found)
    torch.testing.assert_close(undo_steps(apply_steps(rows, found), found, lost), rows)
