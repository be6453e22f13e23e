"""Finished parts of a long computation, kept on disk until all of it is done."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from fairseq_xling.errors import MALFORMED
from fairseq_xling.files import atomic_write, exclusive


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
    path.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"{output}: another run is writing it"):
        try:
            yield WorkFolder(path, identity)
        except BaseException:
            with contextlib.suppress(OSError):
                path.rmdir()  # if nothing was kept
            raise
        shutil.rmtree(path)
