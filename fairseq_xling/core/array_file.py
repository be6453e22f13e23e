"""Arrays and a description of them in one safetensors file, each kind of file with its own mark.

The description is JSON text in one metadata entry: safetensors writes several in no fixed order,
and equal contents would not give equal bytes.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import atomic_write, check_files

_KINDS = {"f": "floats", "i": "whole numbers"}


def mapped(path: Path, kind: str, shape: tuple[int | None, ...], remedy: str) -> np.ndarray:
    """The array in ``path``, of which nothing is read yet; nothing in the file can run.

    Args:
        kind: ``f`` for floats, ``i`` for whole numbers.
        shape: its shape, None where any size will do.
        remedy: what to do where the file is missing or wrong, for the message.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; {remedy}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):  # several in an archive, .npz
            raise TypeError
    except Exception:  # NumPy reads the header as Python, which ends in as many ways
        raise UserError(f"{path}: damaged or not a numpy array; {remedy}") from None
    fits = array.ndim == len(shape) and all(
        size in (None, found) for size, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind.replace("u", "i") != kind:
        wanted = str(shape).replace("None", "any")
        raise UserError(
            f"{path}: must be {_KINDS[kind]} of shape {wanted}, got {array.dtype} of shape "
            f"{array.shape}; {remedy}"
        )
    if path.stat().st_size != array.offset + array.nbytes:  # else each value may be out of place
        raise UserError(f"{path}: must end with its last value, got more; {remedy}")
    return array


@dataclass(frozen=True)
class ArrayFile:
    """A kind of file.

    Attributes:
        mark: name of the metadata entry.
        what: what such a file is, and which command writes it, for messages.
        needs: names of arrays that it always has.
        format: its number; a file with another one is rejected.
    """

    mark: str
    what: str
    needs: tuple[str, ...] = ()
    format: int = 1

    def write(
        self, path: str | Path, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]
    ) -> None:
        """Write atomically; equal arrays and descriptions give equal bytes.

        Args:
            about: JSON values.
        """
        described = {"format": self.format, **about}
        entry = json.dumps(described, sort_keys=True, ensure_ascii=False)
        dense = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with atomic_write(path) as file:
            file.write(save(dense, metadata={self.mark: entry}))

    def read(self, path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Read such a file."""
        check_files(path)
        try:
            with safe_open(path, framework="numpy") as file:
                entry = (file.metadata() or {}).get(self.mark)
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path}: not a safetensors file, or damaged ({error})") from None
        if entry is None or not set(self.needs) <= set(arrays):
            raise UserError(f"{path}: not {self.what}")
        with described_well(path):
            about = json.loads(entry)
            if about["format"] != self.format:
                raise UserError(f"{path}: format must be {self.format}, got {about['format']!r}")
        return arrays, about


@contextlib.contextmanager
def described_well(path: str | Path) -> Iterator[None]:
    """For reading a description: missing entries mean that the file is damaged."""
    try:
        yield
    except UserError:
        raise
    except MALFORMED:
        raise UserError(f"{path}: its description is damaged; write the file again") from None
