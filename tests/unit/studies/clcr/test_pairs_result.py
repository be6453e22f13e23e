"""The page of `ablate clcr-pairs`: what more sentence pairs give."""

import pytest

from fairseq_xling.studies.clcr.pairs_result import _gains

ACCURACY = {10: (50.0, 60.0, 55.0), 40: (60.0, 72.0, 66.0)}


def record(sizes, f1=0.5):
    return {
        "source": "en",
        "tests": [["de.test", "de"]],
        "sizes": [
            {
                "pairs": pairs,
                "seeds": [
                    {"seed": n, "hard": None, "relative": 1 / pairs, "f1": f1, "seconds": {}}
                    for n in range(3)
                ],
                "classified": [
                    {"row": row, "seed": n, "accuracy": {"valid": 0.0, "de.test": value + more}}
                    for row, more in (("T", 0.0), ("T+E", 9.0))
                    for n, value in enumerate(ACCURACY[pairs])
                ],
            }
            for pairs in sizes
        ],
    }


@pytest.mark.row("C17")
def test_the_largest_size_is_compared_with_the_smallest_by_seed():
    (found,) = _gains(record([10, 40]))
    assert found.startswith("From 10 to 40 pairs: relative D -0.075 of the spread; pivot F1 +0.0")
    assert "T+E, de +11.0 points (95 % interval +8.5 to +13.5)" in found
    assert "over 3 seeds: p = 0.003" in found and "T, de" not in found


def test_what_was_not_measured_is_not_compared():
    (found,) = _gains(record([10, 40], f1=None))
    assert "pivot F1" not in found
    assert not list(_gains(record([40])))
