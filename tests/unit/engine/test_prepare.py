"""fairseq as it is after it was prepared."""

import logging
import subprocess
import sys

import pytest

from fairseq_xling.engine.prepare import prepare_engine


def test_preparing_twice_wraps_once():
    import fairseq.checkpoint_utils as checkpoint_utils

    prepare_engine()
    wrapped = checkpoint_utils.load_checkpoint
    prepare_engine()
    assert checkpoint_utils.load_checkpoint is wrapped


@pytest.mark.slow
def test_importing_fairseq_leaves_the_root_logger_alone():
    code = (
        "import logging; from fairseq_xling.engine.prepare import prepare_engine; prepare_engine();"
        "print(logging.getLogger().level)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == logging.WARNING
