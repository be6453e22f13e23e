import numpy as np
import pytest

from fairseq_xling.data.sampling import smoothed_shares
from fairseq_xling.errors import UserError


@pytest.mark.row("D1")
def test_the_worked_example_of_the_specification():
    shares = smoothed_shares({"en": 9, "de": 1}, 0.7)
    assert shares["en"] == pytest.approx(0.823, abs=5e-4)
    assert shares["de"] == pytest.approx(0.177, abs=5e-4)


def test_the_formula_for_many_languages():
    sizes = {"en": 500_000_000, "de": 70_000_000, "sw": 300, "is": 1}
    fractions = np.array(list(sizes.values())) / sum(sizes.values())
    expected = fractions**0.3 / (fractions**0.3).sum()
    assert list(smoothed_shares(sizes, 0.3)) == list(sizes)
    assert list(smoothed_shares(sizes, 0.3).values()) == pytest.approx(expected.tolist())


@pytest.mark.row("D1")
def test_alpha_1_keeps_the_proportions_and_alpha_0_makes_them_equal():
    sizes = {"en": 700, "de": 200, "zh": 100}
    assert list(smoothed_shares(sizes, 1).values()) == pytest.approx([0.7, 0.2, 0.1])
    assert list(smoothed_shares(sizes, 0).values()) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("alpha", [-0.1, 1.01, float("nan")])
def test_alpha_outside_0_to_1_is_refused(alpha):
    with pytest.raises(UserError) as caught:
        smoothed_shares({"en": 1}, alpha)
    assert str(caught.value) == f"`--lang-sampling-alpha` must lie in [0, 1], got {alpha}"


def test_a_language_without_text_is_named():
    with pytest.raises(UserError, match=r"^'de' has no sentences to sample from$"):
        smoothed_shares({"en": 5, "de": 0}, 0.7)
