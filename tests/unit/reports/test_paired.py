"""Differences over seeds, and when they can be told from chance."""

import pytest

from fairseq_xling.reports.paired import in_words, paired_difference, shown_p


@pytest.mark.filterwarnings("error")
def test_differences_that_are_equal_but_for_rounding_are_not_tested():
    better = [100 * count / 30 for count in (20, 22, 25)]
    worse = [100 * count / 30 for count in (17, 19, 22)]
    found = paired_difference(better, worse)
    assert len(set(found["gaps"])) > 1 and found["p"] is found["low"] is None
    assert in_words(found) == "+10.0 points"


def test_the_interval_of_small_figures_is_not_taken_for_rounding():
    found = paired_difference([3e-6, 5e-6, 4e-6], [1e-6, 2e-6, 3e-6])
    assert found["p"] == pytest.approx(0.0742, abs=1e-4)


def test_a_probability_that_is_no_number_is_not_called_small():
    assert shown_p(float("nan")) == "= nan"
