"""The step that installs fairseq; building it for real is what setting up this environment does."""

import importlib
import subprocess
import sys

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import install as engine


@pytest.fixture
def pip(monkeypatch):
    """pip answers with ``status`` and ``output``; its calls are in the list."""

    def answer(status=0, output=""):
        calls = []

        def run(command, **options):
            calls.append((command, options))
            return subprocess.CompletedProcess(command, status, stdout=output)

        monkeypatch.setattr(engine.subprocess, "run", run)
        return calls

    return answer


def test_without_a_compiler_one_line_says_what_to_install(monkeypatch, pip):
    calls = pip()
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(UserError, match=r"needs a C.. compiler, .* no 'no-such-compiler'"):
        engine.install_engine()
    assert not calls


def test_without_what_the_build_needs_one_line_says_what_to_install(monkeypatch, pip):
    calls = pip()
    monkeypatch.setattr(engine, "_BUILT_WITH", ("numpy", "no_such_package"))
    with pytest.raises(UserError, match=r"needs no_such_package; run: pip install no_such_package"):
        engine.install_engine()
    assert not calls


def test_what_pip_said_last_is_shown_when_it_fails(pip, capsys):
    pip(1, "".join(f"line {n}\n" for n in range(40)) + "ERROR: No matching distribution\n")
    with pytest.raises(UserError, match="pip could not build or find fairseq-fixed==") as error:
        engine.install_engine()
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "  | ERROR: No matching distribution" and len(said) == 15
    assert engine.ENGINE_STEP in str(error.value)


def test_the_wheel_stays_out_of_the_cache_that_others_take_wheels_from(pip):
    calls = pip(0, "/the/cache\n")
    engine.install_engine()
    command, options = calls[-1]
    assert command[command.index("--cache-dir") + 1] == "/the/cache/fairseq-xling"
    assert command[-1] == engine.ENGINE and "PYTHONPATH" in options["env"]


def test_extensions_of_torch_are_left_out_and_the_others_built(tmp_path):
    """fairseq's own setup.py in small: the same calls, with nothing to compile."""
    (tmp_path / "torch" / "utils").mkdir(parents=True)
    for folder in ("torch", "torch/utils"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "torch/utils/cpp_extension.py").write_text(engine._CPP_EXTENSION)
    (tmp_path / "setup.py").write_text(
        "from setuptools import Extension, setup\n"
        "from torch.utils import cpp_extension\n"
        "kept = Extension('kept', sources=['kept.c'])\n"
        "left = cpp_extension.CppExtension('left', sources=['left.cpp'])\n"
        "done = setup(name='x', ext_modules=[kept, left],\n"
        "             cmdclass={'build_ext': cpp_extension.BuildExtension})\n"
        "command = done.get_command_obj('build_ext')\n"
        "command.ensure_finalized()\n"
        "print([one.name for one in command.extensions])\n"
    )
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "--name"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "['kept']"


@pytest.mark.parametrize("name", ["data.data_utils_fast", "data.token_block_utils_fast", "libbleu"])
def test_this_environment_has_what_batching_and_scoring_need(name):
    importlib.import_module(f"fairseq.{name}")
