"""The source distribution, the wheel that it builds, and the package that pip installs from it."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import fairseq_xling
from fairseq_xling import USER_DIR
from fairseq_xling.core.extras import EXTRAS
from fairseq_xling.engine.install import ENGINE_STEP

ROOT = Path(__file__).parents[2]
FILES = "setup.py pyproject.toml MANIFEST.in README.md LICENSE CHANGELOG.md CITATION.cff".split()
FILES += ["CONTRIBUTING.md", "Makefile", "constraints.txt"]
FOLDERS = ("fairseq_xling", "user_dir")  # of the clone
BUILD = (
    "import sys; from setuptools import build_meta; "
    "print(getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2]))"
)


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build ``sdist`` or ``wheel`` with what pip calls, in this environment."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, kind, folder],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / done.stdout.splitlines()[-1]


def held_by(*folders: str) -> set[str]:
    """All that folders of the clone hold here, code or not."""
    paths = [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    return {os.fspath(p.relative_to(ROOT)) for p in paths if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The source distribution of a clone, unpacked."""
    clone, work = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("sdist")
    for name in FILES:
        shutil.copy(ROOT / name, clone)
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, clone / name, ignore=ignored)
    # what running it here has left must not travel
    (clone / "fairseq_xling" / "__pycache__").mkdir()
    (clone / "fairseq_xling" / "__pycache__" / "seeds.cpython-311.pyc").touch()
    with tarfile.open(build("sdist", clone, work)) as archive:
        archive.extractall(work, filter="data")
    shutil.rmtree(clone)
    (found,) = (path for path in work.iterdir() if path.is_dir())
    return found


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory) -> Path:
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


@pytest.mark.slow
def test_the_source_distribution_has_what_make_needs_and_no_caches(unpacked):
    held = {os.fspath(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    assert held >= {*FILES, *held_by(*FOLDERS)}
    assert not [name for name in held if name.endswith(".pyc")]
    assert unpacked.name == f"fairseq_xling-{fairseq_xling.__version__}"


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_licence_and_no_other_folder(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        info = f"fairseq_xling-{fairseq_xling.__version__}.dist-info"
        assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert {name for name in held if not name.startswith(info)} == held_by("fairseq_xling")
    assert "fairseq_xling/py.typed" in held


@pytest.mark.slow
def test_the_metadata_describes_the_package(metadata):
    assert metadata["Version"] == fairseq_xling.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == "<3.14,>=3.10"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True) == (ROOT / "README.md").read_bytes()
    required = requirements(metadata)
    assert "torch<2.14,>=2.6" in required
    assert not [name for name in required if name.startswith("fairseq")]


def requirements(metadata: Message, extra: str = "") -> set[str]:
    """What is required with ``extra``, or by itself."""
    marker = f'extra == "{extra}"' if extra else ""
    parts = [line.partition("; ") for line in metadata.get_all("Requires-Dist")]
    return {name for name, _, found in parts if found == marker}


@pytest.mark.slow
def test_each_package_that_a_message_asks_for_is_in_its_extra_alone(metadata):
    for package, extra in EXTRAS.items():
        named = re.compile(rf"{package}\b")
        assert any(map(named.match, requirements(metadata, extra))), package
        assert not any(map(named.match, requirements(metadata))), package


@pytest.mark.slow
def test_the_page_lists_every_extra(metadata):
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z]+)` \|", page, re.M)
    assert sorted(listed) == sorted(metadata.get_all("Provides-Extra"))


def test_the_first_step_installs_what_the_engine_is_built_with():
    for page in ("README.md", "docs/install.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        steps = re.findall(r"^    (pip install .*)$", text, re.M)
        assert "whl/cpu" in steps[0] and steps[1] == "pip install . wheel"
        assert steps[2] == ENGINE_STEP


@pytest.mark.slow
def test_an_installed_package_trains_without_the_clone(wheel, tiny_corpus, tmp_path):
    from tests.end_to_end.engine import BIN, environment, training_options

    site = tmp_path / "site"
    options = "--quiet --no-deps --no-index --no-compile --target".split()
    subprocess.run([sys.executable, "-m", "pip", "install", *options, site, wheel], check=True)

    env = {**environment(), "PYTHONPATH": str(site)}
    printed = subprocess.run(
        [sys.executable, site / "bin" / "fairseq-xling", "user-dir"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert Path(printed.stdout.strip()) == site / USER_DIR.relative_to(ROOT)
    arguments = training_options(tiny_corpus.path, tmp_path / "checkpoints", "--max-update", "1")
    arguments[arguments.index("--user-dir") + 1] = printed.stdout.strip()
    done = subprocess.run(
        [BIN / "fairseq-train", *arguments], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "checkpoints" / "checkpoint_last.pt").is_file()
