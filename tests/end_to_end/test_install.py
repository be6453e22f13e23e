"""`pip install .` without a clone: the package, its programs and the folder for --user-dir."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_installed_package_trains_without_the_clone(tiny_corpus, tmp_path):
    from tests.end_to_end.engine import BIN, environment, training_options

    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    for name in ("fairseq_xling", "user_dir"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    options = "--quiet --no-deps --no-build-isolation --target".split()
    subprocess.run([sys.executable, "-m", "pip", "install", *options, site, source], check=True)
    shutil.rmtree(source)

    env = {**environment(), "PYTHONPATH": str(site)}
    show = "from fairseq_xling.cli.main import main; main(['user-dir'])"
    printed = subprocess.run(
        [sys.executable, "-c", show], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert printed.stdout.strip() == os.fspath(site / "user_dir")
    arguments = training_options(tiny_corpus.path, tmp_path / "checkpoints", "--max-update", "1")
    arguments[arguments.index("--user-dir") + 1] = printed.stdout.strip()
    done = subprocess.run(
        [BIN / "fairseq-train", *arguments], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "checkpoints" / "checkpoint_last.pt").is_file()
    # everything that the code reads at run time travels with it
    data = {p.relative_to(ROOT) for p in (ROOT / "fairseq_xling").rglob("*.jinja")}
    assert data and all((site / path).is_file() for path in data)
