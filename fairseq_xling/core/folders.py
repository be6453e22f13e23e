"""Folders that commands write: claimed for their settings, filled atomically, resumed after a kill.

`claim` is for a folder that grows where it is. `new_folder` is filled as ``.NAME.partial`` in the
same parent folder, with its settings in ``settings.json``; ``meta.json``, with the same
``settings``, marks a finished one. `work_folder` keeps the finished parts of a long computation
until all of it is done.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from fairseq_xling.core.errors import MALFORMED, UserError, writing
from fairseq_xling.core.files import (
    atomic_write,
    exclusive,
    is_unfinished,
    read_json,
    remove,
    remove_links,
    same_place,
    write_json,
)

META = "meta.json"
_SETTINGS = "settings.json"


def check_new(name: str, output: Path) -> None:
    """Reject what is there already, but for an empty folder; ``name`` is the argument's."""
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UserError(f"`{name}` must be a new folder, got {output}")


def claim(output: Path, settings: dict[str, Any]) -> None:
    """Make ``output`` the folder of these settings, or check that it is.

    Raises:
        UserError: if it contains anything else.
    """
    path = output / _SETTINGS
    if path.is_file() and read_json(path) == settings:
        return
    if output.exists() and not output.is_dir():
        raise UserError(f"`--output` {output}: is a file, not a folder")
    if output.exists() and not all(is_unfinished(one.name) for one in output.iterdir()):
        raise UserError(f"`--output` {output}: must be a new folder; it contains something else")
    output.mkdir(parents=True, exist_ok=True)
    write_json(path, settings)


def is_finished(output: Path, settings: Mapping[str, Any]) -> bool:
    """Whether ``output`` was written with these settings; False if there is nothing yet.

    Raises:
        UserError: if it contains anything else.
    """
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return False
    if (output / META).is_file():
        meta = read_json(output / META)
        if isinstance(meta, dict) and meta.get("settings") == settings:
            return True
    raise UserError(f"`--output` {output}: must be new; it contains something else")


def begun_settings(output: Path) -> Mapping[str, Any] | None:
    """The settings that ``output`` was written with, or is being written with; None for neither."""
    begun, done = _partial(output) / _SETTINGS, output / META
    if begun.is_file():
        return read_json(begun)
    meta = read_json(done) if done.is_file() else None
    return meta.get("settings") if isinstance(meta, dict) else None


@contextlib.contextmanager
def new_folder(output: Path, settings: Mapping[str, Any], verb: str) -> Iterator[Path]:
    """The folder to fill, which is renamed to ``output`` when the block succeeds.

    What a killed run with the same ``settings`` left is still in it. A user error removes it, since
    it would be useless once the error is corrected.

    Raises:
        UserError: if another process is filling it, or it is the current folder.
    """
    if same_place(output, "."):
        raise UserError(f"`--output` must be another folder than the current one, got {output}")
    folder = _partial(output)
    remove_links(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, f"`--output` {output}: another `{verb}` is writing it"):
        begun = folder / _SETTINGS
        if not begun.is_file() or read_json(begun) != settings:
            for path in folder.iterdir():
                remove(path)
            write_json(begun, settings)
        try:
            with writing(output):
                yield folder
        except (UserError, MemoryError):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        begun.unlink()
        place = Path(os.path.realpath(output))
        if place.exists():
            place.rmdir()  # empty, or `is_finished` would have refused it
        os.replace(folder, place)


def _partial(output: Path) -> Path:
    place = Path(os.path.realpath(output))  # where a link leads to
    return place.parent / f".{place.name}.partial"


class WorkFolder:
    """Named parts (arrays and a JSON value), valid for one computation only.

    Args:
        path: an existing folder.
        identity: everything that determines the result (JSON value). Parts kept under another
            identity, and damaged ones, count as missing.
    """

    def __init__(self, path: Path, identity: Any):
        self._path = path
        text = json.dumps(identity, sort_keys=True)
        self._key = hashlib.sha256(text.encode("utf-8")).hexdigest()

    def keep(self, name: str, arrays: dict[str, np.ndarray], value: Any = None) -> None:
        """Store part ``name``, replacing an earlier one."""
        about = {"about": json.dumps({"key": self._key, "value": value})}
        arrays = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
        with atomic_write(self._path / f"{name}.safetensors") as file:
            file.write(save(arrays, metadata=about))

    def find(self, name: str) -> tuple[dict[str, np.ndarray], Any] | None:
        """The stored part ``name``, or None."""
        try:
            with safe_open(self._path / f"{name}.safetensors", framework="numpy") as file:
                about = json.loads((file.metadata() or {})["about"])
                if about["key"] != self._key:
                    return None
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                return arrays, about["value"]
        except (OSError, SafetensorError, *MALFORMED):
            return None


@contextlib.contextmanager
def work_folder(output: str | Path, identity: Any) -> Iterator[WorkFolder]:
    """The folder ``<output>.work``; it is removed when the computation succeeds, else kept.

    Raises:
        UserError: if another process is writing the same ``output``.
    """
    path = Path(f"{output}.work")
    remove_links(path)
    path.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"{output}: another run is writing it"):
        try:
            yield WorkFolder(path, identity)
        except BaseException:
            with contextlib.suppress(OSError):
                path.rmdir()  # if nothing was kept
            raise
        shutil.rmtree(path)
