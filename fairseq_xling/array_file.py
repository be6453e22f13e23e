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

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import atomic_write, check_files


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
        """Read such a file.

        Raises:
            UserError: if the file is missing or damaged, or is of another kind or format.
        """
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
    """For reading a description: missing entries mean that the file is damaged.

    Raises:
        UserError: instead of the exceptions of reading JSON values.
    """
    try:
        yield
    except UserError:
        raise
    except MALFORMED:
        raise UserError(f"{path}: its description is damaged; write the file again") from None
