import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from fairseq_xling.structures.scores import micro_scores


@pytest.mark.row("E13")
def test_micro_scores_are_those_computed_by_hand():
    gold = ["A", "A", "B", "NONE", "NONE", "C"]
    found = micro_scores(["A", "B", "B", "A", "NONE", "NONE"], gold)
    assert (found.right, found.predicted, found.gold) == (2, 4, 4)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [(["NONE"] * 3, ["A", "B", "NONE"]), (["A", "B", "A"], ["NONE"] * 3), (["NONE"], ["NONE"])],
)
def test_nothing_but_none_scores_zero_and_never_divides_by_zero(predicted, gold):
    found = micro_scores(predicted, gold)
    assert (found.precision, found.recall, found.f1) == (0, 0, 0)


def test_scores_equal_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    for _ in range(20):
        gold, predicted = rng.choice(["NONE", "A", "B", "C"], (2, 40), p=[0.5, 0.3, 0.1, 0.1])
        found = micro_scores(predicted.tolist(), gold.tolist())
        peer = precision_recall_fscore_support(
            gold, predicted, labels=["A", "B", "C"], average="micro", zero_division=0
        )
        np.testing.assert_allclose([found.precision, found.recall, found.f1], peer[:3], atol=1e-12)
