"""Makes the environment that `make` works in, or says in one line why it cannot.

    python3.11 .ci/set_up.py .venv

The engine is compiled while everything else is unpacked. Only the standard library is needed.
"""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDS_DISK, NEEDS_MEMORY = 4, 2  # GB
TOOLS = "numpy cython setuptools setuptools_scm wheel"
# Packages are compiled to bytecode when they are first imported; most of torch never is. What every
# program imports is compiled at once, or several that start together would each do it.
PIP = "install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt"
IMPORTED = "import fairseq_xling.plugin, torch._dynamo"


class Refusal(Exception):
    """One line for the user."""


def check(folder: Path) -> None:
    """Raise a `Refusal` where the environment could not be made."""
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        raise Refusal(
            f"needs Python 3.10 to 3.13, got {sys.version.split()[0]}; name one that you have, as "
            "in: make demo PYTHON=python3.12"
        )
    if importlib.util.find_spec("ensurepip") is None:
        raise Refusal(
            "this Python cannot make environments; install its venv module "
            f"(Debian and Ubuntu: apt-get install python3.{sys.version_info[1]}-venv)"
        )
    sys.path.insert(0, str(ROOT))
    from fairseq_xling.engine.install import compiler_lack  # only now: older Pythons cannot read it

    if lack := compiler_lack():
        raise Refusal(lack)
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        raise Refusal(
            f"needs the headers of Python to compile, and there is no {header} (Debian and Ubuntu: "
            f"apt-get install python3.{sys.version_info[1]}-dev)"
        )
    free = shutil.disk_usage(folder.parent).free / 2**30
    if free < NEEDS_DISK:
        raise Refusal(f"needs {NEEDS_DISK} GB of disk, and {folder.parent} has {free:.1f} GB free")
    memory = available_memory()
    if memory is not None and memory < NEEDS_MEMORY:
        raise Refusal(f"needs {NEEDS_MEMORY} GB of memory, and {memory:.1f} GB are available")


def available_memory() -> "float | None":
    """GB of memory that are free for use, where the system says so."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) / 2**20 if found else None


def call(what: str, command: "list[str]", failed: "list[str]") -> None:
    """Run ``command``; where it fails, put what it said last into ``failed``."""
    start = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [x for x in done.stdout.splitlines() if x.strip() and not x.startswith("WARNING")]
        failed.append("\n".join([f"{what} failed:", *(f"  | {x[:300]}" for x in lines[-12:])]))
    else:
        print(f"  {what}: {time.monotonic() - start:.0f} s", flush=True)


def main(folder: Path) -> None:
    """Make the environment ``folder``, or what it still lacks."""
    check(folder)
    print(
        f"building {folder.name} with Python {sys.version.split()[0]}, once: about 2 minutes on "
        "two cores where pip has the packages in its cache, longer where it downloads them",
        flush=True,
    )
    python, failed = str(folder / "bin" / "python"), []
    if not Path(python).exists():
        call("environment", [sys.executable, "-m", "venv", str(folder)], failed)
    pip = [python, "-m", "pip", *PIP.split()]
    if not failed:
        call("tools to build with", [*pip, *TOOLS.split()], failed)
    if not failed:
        jobs = [
            ("engine", [python, "-m", "fairseq_xling.engine.install"]),
            ("packages", [*pip, "--no-build-isolation", "torch", "--editable", ".[dev]"]),
        ]
        threads = [threading.Thread(target=call, args=(*job, failed)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if not failed:
        call("bytecode", [python, "-c", IMPORTED], failed)
    if failed:
        print("\n".join(failed), file=sys.stderr)
        text = " ".join(failed)
        if any(
            sign in text for sign in ("No matching distribution", "ConnectionError", "Retrying")
        ):
            raise Refusal(
                "a package could not be found; connect to a network, or name a package index that "
                "pip reaches by `PIP_INDEX_URL` or `PIP_FIND_LINKS`, and run make again"
            )
        if "No space left" in text:
            raise Refusal(
                f"the disk is full; free some of it ({NEEDS_DISK} GB), and run make again"
            )
        raise Refusal("the last lines above say why; run make again when that is mended")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).absolute())
    except Refusal as refusal:
        sys.exit(f"make: error: {refusal}")
