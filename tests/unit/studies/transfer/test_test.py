import json

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.studies.transfer.test import Trained, best_on_dev, choose


@pytest.fixture
def trained(tmp_path):
    """``trained("a", 1, [50, 60])``: a model of that setting and seed, accuracy on dev by epoch."""

    def make(setting, seed, curve):
        log = tmp_path / f"{setting}{seed}.log"
        lines = [
            f"now | INFO | valid | {json.dumps({'valid_accuracy': str(v), 'valid_num_updates': n})}"
            for n, v in enumerate(curve, start=1)
        ]
        log.write_text("\n".join(lines), encoding="utf-8")
        return Trained(setting, seed, tmp_path, log)

    return make


def test_the_figure_of_a_model_is_that_of_its_best_epoch(trained):
    assert best_on_dev(trained("a", 1, [50, 70, 60]), "accuracy") == 70
    with pytest.raises(UserError, match="this training was never validated by 'f1'"):
        best_on_dev(trained("a", 1, [50]), "f1")


def test_settings_are_chosen_by_their_mean_over_seeds(trained):
    models = [
        *(trained("a", 1, [90]), trained("a", 2, [10])),
        *(trained("b", 1, [60]), trained("b", 2, [62])),
        *(trained("c", 1, [55]), trained("c", 2, [56])),
    ]
    assert choose(models, "accuracy", 2) == {"b": 61.0, "c": 55.5}
