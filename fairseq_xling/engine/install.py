"""Installs fairseq, the engine, without the extensions that text work never loads.

    python -m fairseq_xling.engine.install

fairseq compiles six extensions. Batching needs two of them (``data_utils_fast`` and
``token_block_utils_fast``) and fairseq's own BLEU one (``libbleu``); these take seconds. The other
three are compiled against torch, for a minute and more: ``libbase`` for mixtures of experts,
``libnat`` for the Levenshtein transformer, ``alignment_train`` for simultaneous translation. They
are left out here; each is imported only by the model that needs it, which says so where it is
missing. `ENGINE_STEP` installs all six.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fairseq_xling.core.errors import UserError, one_line

ENGINE = "fairseq-fixed==0.12.3.1"
# Without its dependencies: its metadata asks for torchaudio, which text work never imports and
# which breaks other packages where its build does not match torch.
ENGINE_STEP = f"pip install --no-build-isolation --no-deps {ENGINE}"
_BUILT_WITH = ("setuptools", "wheel", "numpy", "Cython")

# What fairseq's setup.py asks torch for, without torch: extensions that are not built.
_CPP_EXTENSION = """
from setuptools import Extension
from setuptools.command.build_ext import build_ext


class CppExtension(Extension):
    pass


class BuildExtension(build_ext):
    def finalize_options(self):
        every = self.distribution.ext_modules
        every[:] = [one for one in every if not isinstance(one, CppExtension)]
        super().finalize_options()
"""


def install_engine() -> None:
    """Build and install the engine for this Python with pip.

    Raises:
        UserError: without a compiler, a package that the build needs, or the package's source.
    """
    missing = [name for name in _BUILT_WITH if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(
            f"building the engine needs {', '.join(missing)}; run: pip install {' '.join(missing)}"
        )
    if lack := compiler_lack():
        raise UserError(f"building the engine {lack}")
    found = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    base = found.stdout.strip() if found.returncode == 0 else tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="fairseq-xling-") as folder:
        package = Path(folder) / "torch" / "utils"
        package.mkdir(parents=True)
        for file, text in (
            (package.parent / "__init__.py", ""),
            (package / "__init__.py", ""),
            (package / "cpp_extension.py", _CPP_EXTENSION),
        ):
            file.write_text(text)
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-build-isolation", "--no-deps", "--no-compile", "--progress-bar", "off"),
            # A cache of its own: pip's would hand this wheel to those who want all extensions.
            *("--cache-dir", f"{base}/fairseq-xling"),
            ENGINE,
        ]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        sys.stderr.write("".join(f"  | {line[:300]}\n" for line in lines[-15:]))
        raise UserError(
            f"pip could not build or find {ENGINE}; its last lines are above. Without a network, "
            f"put its source into a folder and set `PIP_FIND_LINKS` to it. Or try: {ENGINE_STEP}"
        )


def compiler_lack() -> str:
    """What to do about a missing C++ compiler; empty if there is one."""
    compiler = os.environ.get("CXX", "c++").split()[0]
    if shutil.which(compiler) is not None:
        return ""
    return (
        f"needs a C++ compiler, and there is no {compiler!r}; install one (Debian and Ubuntu: "
        "apt-get install g++), or name yours in `CXX`"
    )


if __name__ == "__main__":
    try:
        install_engine()
    except UserError as error:
        sys.exit(one_line(error))
