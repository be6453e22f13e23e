"""The script of `fairseq-xling completion bash`, carried out by bash."""

import shutil
import subprocess
import sys

import pytest

from fairseq_xling.cli import main
from fairseq_xling.command_line import verbs
from fairseq_xling.verbs import completion
from fairseq_xling.verbs.completion import SHELLS

ASK = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_fairseq_xling
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "fairseq-xling.bash"
    path.write_text(completion.script("bash"))
    return path


def completed(script, words, folder):
    """What bash offers for the last word."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    command = ["bash", "-c", ASK.format(script=script, words=words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not done.stderr
    return sorted(done.stdout.split())


def test_verbs_options_choices_and_files_are_completed(script, tmp_path):
    (tmp_path / "model.pt").touch()
    (tmp_path / "data").mkdir()

    def offered(words):
        return completed(script, f"fairseq-xling {words}", tmp_path)

    assert offered("tran") == ["translate", "translate-mds"]
    assert offered('""') == sorted(verbs())
    assert offered("export --onnx-p") == ["--onnx-pair"]
    assert offered("prepare data --vocab-t") == ["--vocab-type"]
    assert offered("completion z") == ["zsh"]
    assert offered("export mod") == ["model.pt"]
    assert offered("export model.pt --data d") == ["data"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell, monkeypatch, capsys):
    monkeypatch.setattr(completion, "verbs", lambda: {"export": verbs()["export"]})
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert "fairseq-xling" in said and "export" in said and "onnx-pair" in said


def test_without_the_library_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'fairseq_xling[completion]'" in capsys.readouterr().err
