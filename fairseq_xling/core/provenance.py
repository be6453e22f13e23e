"""The provenance of a result: versions, machine, command, inputs."""

import datetime
import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import on_disk, sha256, stat_of
from fairseq_xling.version import VERSION

_PACKAGES = ("torch", "numpy", "fairseq-fixed", "fairseq", "sentencepiece")


def versions() -> dict[str, str]:
    """Versions of this package, Python and what the results depend on."""
    found = {"fairseq_xling": VERSION, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Processor count and architecture, in words."""
    return f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}"


def provenance(files: Mapping[str, str | Path]) -> dict[str, Any]:
    """What to store with a result of this command from ``files`` (by role)."""
    return {
        "command": shlex.join([*_program(), *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "inputs": {
            role: {
                "path": str(path),
                "bytes": stat_of(path).st_size,
                "sha256": sha256(on_disk(path)),  # that other programs find, too
            }
            for role, path in files.items()
        },
    }


def _program() -> list[str]:
    """What the command line begins with: a script that calls the package, or the program."""
    script = sys.argv[0]
    called = script.endswith(".py") and not script.endswith("__main__.py")
    return ["python", script] if called else ["fairseq-xling"]
