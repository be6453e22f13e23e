"""The page of `ablate clcr-pairs`: what more sentence pairs give."""

from fairseq_xling.papers.clcr.comparison import SHOWN, accuracies
from fairseq_xling.papers.clcr.pairs import gains

ACCURACY = {10: (50.0, 60.0, 55.0), 40: (60.0, 72.0, 66.0)}
SAME = dict.fromkeys(ACCURACY, (50.0, 50.0, 50.0))


def gained(sizes=(10, 40), f1=SAME, models=(("T", 0.0), ("T+E", 9.0))):
    """The notes on figures of three seeds by the number of pairs."""
    rows = []
    for row in sizes:
        for seed in range(3):
            for measure, value in (("relative", 1 / row), ("f1", f1[row][seed])):
                if value is not None:
                    about = {"row": row, "seed": seed, "measure": measure}
                    rows.append({**about, **SHOWN[measure], "value": value})
        for model, more in models:
            for seed, value in enumerate(ACCURACY[row]):
                about = {"row": row, "seed": seed, "column": f"{model}, de (%)"}
                rows.append({**about, "value": value + more})
    return list(gains(rows))


def test_every_figure_of_the_most_pairs_is_compared_with_the_fewest_by_seed():
    (found,) = gained()
    distance = "relative D (lower is better) -0.075 of the spread"
    assert found.startswith(f"From 10 to 40 pairs: {distance}; pivot F1 +0.0 points; T, de")
    assert "; T, de +11.0 points (95 % interval +8.5 to +13.5)" in found
    assert "; T+E, de +11.0 points" in found and "over 3 seeds: p = 0.003" in found


def test_only_what_both_sizes_have_is_compared():
    (found,) = gained(f1={10: (None, 50.0, 60.0), 40: (90.0, 55.0, None)})
    assert "; pivot F1 +5.0 points; T, de" in found  # of one seed
    (found,) = gained(f1=dict.fromkeys(ACCURACY, (None, None, None)))
    assert "pivot F1" not in found
    assert gained(sizes=[40]) == []


def test_accuracies_in_the_language_trained_on_are_recorded_and_not_shown():
    of = {"measure": "accuracy", "source": "en", "unit": "%", "chance": 40.0}
    files = {"valid": ("en", "dev"), "de.test": ("de", "de")}
    rows = [
        {**of, "row": row, "task": task, "target": lang, "column": column, "value": 50.0} | seed
        for row, seed in (("always no", {}), ("T", {"seed": 1}))
        for task, (lang, column) in files.items()
    ]
    own, other = accuracies(rows)
    assert own["measure"] == "accuracy, T, valid" and "column" not in own
    assert other["column"] == "T, de (%)" and other["chance is"] == "always no"
