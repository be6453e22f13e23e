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
def test_every_figure_of_the_most_pairs_is_compared_with_the_fewest_by_seed():
    gains, paper = _gains(record([10, 40]))
    distance = "relative D (lower is better) -0.075 of the spread"
    assert gains.startswith(f"From 10 to 40 pairs: {distance}; pivot F1 +0.0 points; T, de")
    assert "; T, de +11.0 points (95 % interval +8.5 to +13.5)" in gains
    assert "; T+E, de +11.0 points" in gains and "over 3 seeds: p = 0.003" in gains
    assert paper.startswith("More sentence pairs give no gain (Appendix C")
    assert "points of T+E, de, 10 pairs minus 40 (95 % interval -13.5 to -8.5)" in paper
    assert paper.endswith(". Not kept.")


def test_only_seeds_with_both_sizes_are_compared():
    made = record([10, 40])
    for one, values in zip(made["sizes"], ([None, 0.5, 0.6], [0.9, 0.55, None]), strict=True):
        for seed, value in zip(one["seeds"], values, strict=True):
            seed["f1"] = value
    gains, _ = _gains(made)
    assert "; pivot F1 +5.0 points; T, de" in gains  # of one seed


def test_what_was_not_measured_is_not_compared():
    gains, _ = _gains(record([10, 40], f1=None))
    assert "pivot F1" not in gains
    assert not list(_gains(record([40])))


def test_distances_alone_say_nothing_of_the_papers_figures():
    sizes = record([10, 40], f1=None)["sizes"]
    (gains,) = _gains({"sizes": [{**one, "classified": []} for one in sizes]})
    assert gains.startswith("From 10 to 40 pairs: relative D")
