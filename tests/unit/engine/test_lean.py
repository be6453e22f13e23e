"""fairseq's import without metrics that a verb does not need."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_verb_does_not_wait_for_metrics_that_it_does_not_need_and_fairseq_still_has_them():
    code = (
        "import sys\n"
        "from fairseq_xling.engine.lean import _FINDER, lean_engine\n"
        "lean_engine(); lean_engine()\n"
        "import fairseq_xling.plugin\n"
        "print('sklearn' in sys.modules, 'scipy.stats' in sys.modules)\n"
        "print(_FINDER in sys.meta_path)\n"
        "from fairseq.criterions import sentence_prediction\n"
        "from fairseq.tasks import audio_classification\n"
        "print(sentence_prediction.matthews_corrcoef([1, 0, 1, 1], [1, 0, 1, 1]))\n"
        "print(audio_classification.sklearn_metrics.accuracy_score([1, 0], [1, 1]))\n"
        "import sklearn.metrics, scipy.stats\n"
        "print(sklearn.metrics.f1_score([1, 0], [1, 0]), scipy.stats.norm.cdf(0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False", "False", "1.0", "0.5", "1.0", "0.5"]
