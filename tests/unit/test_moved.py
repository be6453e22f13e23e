"""Old names of modules are the modules at their new places."""

import importlib
import subprocess
import sys

import pytest

from fairseq_xling.moved import MOVED


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_name_is_the_module_at_its_new_place(old, new):
    sys.modules.pop(f"fairseq_xling.{old}", None)
    with pytest.warns(FutureWarning, match=rf"fairseq_xling\.{old} is now fairseq_xling\.{new};"):
        found = importlib.import_module(f"fairseq_xling.{old}")
    assert found is importlib.import_module(f"fairseq_xling.{new}")
    assert found.__name__ == found.__spec__.name == f"fairseq_xling.{new}"


def test_what_is_registered_under_an_old_name_is_registered_once():
    """As a folder of `--user-dir` written for the last version would."""
    code = (
        "from fairseq_xling.objectives.base import Example\n"
        "from fairseq_xling.transfer.heads import heads\n"
        "from fairseq_xling.transfer.heads.classification import Classification\n"
        "import fairseq_xling.data.example, fairseq_xling.tasks.heads\n"
        "assert Example is fairseq_xling.data.example.Example\n"
        "assert heads is fairseq_xling.tasks.heads.heads\n"
        "assert heads['classification'] is Classification\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fairseq_xling.transfer.heads is now fairseq_xling.tasks.heads" in done.stderr
    assert "<string>:2: FutureWarning" in done.stderr
