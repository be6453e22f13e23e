"""`make` says in one line why it cannot build its environment, before it begins."""

import importlib.util
import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def set_up(monkeypatch):
    """The script as a module; no command that it would run is run."""
    spec = importlib.util.spec_from_file_location("set_up", ROOT / ".ci" / "set_up.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.calls = []

    def run(command, **options):
        module.calls.append(command)
        status, said = module.answer(command)
        return subprocess.CompletedProcess(command, status, stdout=said)

    module.answer = lambda command: (0, "")
    monkeypatch.setattr(module.subprocess, "run", run)
    return module


def refusal(set_up, folder):
    with pytest.raises(set_up.Refusal) as error:
        set_up.main(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_another_python_is_refused(set_up, monkeypatch, tmp_path):
    Version = namedtuple("Version", "major minor micro")

    class Old(Version):
        def __getitem__(self, place):
            return tuple(self)[place]

    monkeypatch.setattr(set_up.sys, "version_info", Old(3, 9, 2))
    monkeypatch.setattr(set_up.sys, "version", "3.9.2 (main)")
    line = refusal(set_up, tmp_path / ".venv")
    assert line.startswith("needs Python 3.10 to 3.13, got 3.9.2; name one")
    assert not set_up.calls


def test_without_a_compiler_one_line_says_what_to_install(set_up, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    line = refusal(set_up, tmp_path / ".venv")
    assert line.startswith("needs a C++ compiler, and there is no 'no-such-compiler'; install one")
    assert not set_up.calls


def test_too_little_disk_or_memory_is_refused_with_what_is_needed(set_up, monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(set_up.shutil, "disk_usage", lambda path: usage(9, 9, 2**30))
    line = refusal(set_up, tmp_path / ".venv")
    assert line == f"needs 4 GB of disk, and {tmp_path} has 1.0 GB free"
    monkeypatch.setattr(set_up.shutil, "disk_usage", lambda path: usage(9, 9, 2**40))
    monkeypatch.setattr(set_up, "available_memory", lambda: 0.5)
    assert refusal(set_up, tmp_path / ".venv") == "needs 2 GB of memory, and 0.5 GB are available"
    assert not set_up.calls


def test_without_a_network_it_says_so_and_shows_what_pip_said(set_up, tmp_path, capsys):
    said = "WARNING: Retrying\nERROR: No matching distribution found for numpy"
    set_up.answer = lambda command: (1, said) if "numpy" in command else (0, "")
    line = refusal(set_up, tmp_path / ".venv")
    assert line.startswith("a package could not be found; connect to a network")
    assert "  | ERROR: No matching distribution found for numpy" in capsys.readouterr().err
    assert len(set_up.calls) == 2  # the environment, and what failed


def test_a_full_disk_on_the_way_is_one_line(set_up, tmp_path):
    full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    set_up.answer = lambda command: (1, full) if "--editable" in command else (0, "")
    assert refusal(set_up, tmp_path / ".venv").startswith("the disk is full; free some of it")


def test_all_is_installed_with_the_pinned_versions_and_said_with_its_time(set_up, tmp_path, capsys):
    set_up.main(tmp_path / ".venv")
    venv, tools, *both, bytecode = set_up.calls
    assert venv[1:3] == ["-m", "venv"] and "cython" in tools
    engine, packages = sorted(both, key=len)
    assert engine[1:] == ["-m", "fairseq_xling.engine.install"]
    assert packages[-2:] == ["--editable", ".[dev]"] and "constraints.txt" in packages
    assert bytecode[1:] == ["-c", set_up.IMPORTED]
    printed = capsys.readouterr().out
    assert printed.startswith("building .venv with Python 3.")
    for part in ("environment", "tools to build with", "engine", "packages", "bytecode"):
        assert f"  {part}: 0 s\n" in printed


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_without_the_python_it_asks_for_is_one_line(tmp_path):
    for name in ("Makefile", "constraints.txt", "setup.py", "pyproject.toml", ".ci"):
        os.symlink(ROOT / name, tmp_path / name)
    done = subprocess.run(
        ["make", "demo", "PYTHON=python9.9"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "make: error: there is no python9.9; name a Python 3.10 to 3.13" in done.stderr
    assert not (tmp_path / ".venv").exists()
