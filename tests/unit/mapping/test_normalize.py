import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.normalize import centre, centre_first, iterative, normalize, scale, unit


@pytest.fixture
def x():
    return torch.randn(50, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_steps_are_done_from_left_to_right(x):
    assert torch.equal(normalize(x, "unit,centre"), centre(unit(x)))
    assert torch.equal(normalize(x, "centre, unit"), unit(centre(x)))
    assert not torch.allclose(normalize(x, "unit,centre"), normalize(x, "centre,unit"))
    assert normalize(x, "unit,centre").mean(0).abs().max() < 1e-15
    assert (normalize(x, "centre,unit").norm(dim=1) - 1).abs().max() < 1e-15


def test_scaling_changes_no_proportion_and_makes_any_two_spaces_equally_large(x):
    scaled = scale(x)
    assert float(scaled.square().sum(1).mean()) == pytest.approx(9)
    torch.testing.assert_close(scaled / scaled[0, 0], x / x[0, 0])
    torch.testing.assert_close(scale(100 * x), scaled)
    assert torch.equal(scale(0 * x), 0 * x)


def test_after_five_rounds_the_mean_is_zero_and_lengths_are_equal():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 64, generator=generator, dtype=torch.float64) + 0.5
    for steps in (iterative, centre_first):
        found = steps(x)
        assert float(found.mean(0).norm()) < 1e-12
        assert float(found.norm(dim=1).std()) < 1e-6


def test_normalisation_gives_new_vectors(x):
    before = x.clone()
    normalize(x, "unit,centre,unit")
    assert torch.equal(x, before)
    assert torch.equal(normalize(x, "none"), x) and torch.equal(normalize(x, ""), x)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("units", "`--normalize`: unknown normalisation 'units'; did you mean 'unit'? known: "),
        ("unit,", "`--normalize` must be names separated by commas, got 'unit,'"),
    ],
)
def test_a_step_that_does_not_exist_is_refused(x, steps, message):
    with pytest.raises(UserError) as error:
        normalize(x, steps)
    assert str(error.value).startswith(message)
