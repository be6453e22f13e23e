"""Which room may import which: the contract of `pyproject.toml`, and that it can be broken."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairseq_xling

ROOT = Path(__file__).parents[2]
PACKAGE = Path(fairseq_xling.__file__).parent


def lint(folder: Path) -> subprocess.CompletedProcess:
    program = Path(sys.executable).with_name("lint-imports")
    command = [program, "--config", ROOT / "pyproject.toml", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)


def test_rooms_import_downwards_and_no_files_form_a_circle():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


BREAKS = [
    {
        "data/batch.py": ("import fairseq_xling.studies", "Rooms import downwards"),
        "workflow/step.py": ("import fairseq_xling.workflow.runner", "No circles"),
        "mapping/csls.py": ("import argparse", "The mathematics stands alone"),
        "text/inputs.py": ("import torch", "The core and preparing text do without torch"),
        "core/files.py": ("import fairseq", "The core and preparing text do without torch"),
    },
    {"unheard.py": ("", "Rooms import downwards")},
]


@pytest.mark.parametrize("breaks", BREAKS, ids=["imports", "a new room"])
def test_what_breaks_a_rule_is_found(tmp_path, breaks):
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (line, _) in breaks.items():
        with open(copy / file, "a", encoding="utf-8") as out:
            out.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    for file, (_, broken) in breaks.items():
        assert f"{broken} BROKEN" in done.stdout, file
