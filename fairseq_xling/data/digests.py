"""Digests of the files of a data folder, as its ``meta.json`` records them.

Each file has its size and the SHA-256 of all its bytes. Text may be far larger than memory, so a
file of text also has the digest of a sample, which is what is compared whenever it is opened; the
rest is compared by `fairseq-xling check`. Other files are small and are always compared in full.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import sha256

_BLOCK = 1 << 12  # bytes
_BLOCKS = 16  # of a sample, evenly spaced from the first to the last
_SAMPLED = (".bin", ".idx")


def sample_digest(path: str | Path) -> str:
    """Hex digest of a file's size and of blocks spread over it; of all of it if it is small."""
    size = os.path.getsize(path)
    digest = hashlib.sha256(str(size).encode())
    with open(path, "rb") as file:
        if size <= _BLOCK * _BLOCKS:
            digest.update(file.read())
        else:
            for k in range(_BLOCKS):
                file.seek((size - _BLOCK) * k // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``{"bytes", "sha256"}`` of files by their names in ``folder``, of text also ``"sample"``."""
    found = {}
    for name in sorted(names):
        path = folder / name
        found[name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
        if name.endswith(_SAMPLED):
            found[name]["sample"] = sample_digest(path)
    return found


def check_file(path: Path, recorded: Mapping[str, Any], fully: bool = False) -> None:
    """Compare a file with what was ``recorded`` of it; ``fully`` reads all of it in any case.

    Raises:
        UserError: if it is missing or another.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file, though meta.json lists it")
    same = path.stat().st_size == recorded.get("bytes")
    if same and "sample" in recorded:
        same = sample_digest(path) == recorded["sample"]
    if same and (fully or "sample" not in recorded):
        same = sha256(path) == recorded.get("sha256")
    if not same:
        raise UserError(f"{path}: changed since the folder was prepared; prepare it again")
