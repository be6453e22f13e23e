"""Arrays that grow on disk, block by block, and never contain half a block after a kill.

Rows are appended to ``.npy`` files whose header is written last. A state file records the number of
valid rows; anything that a killed run wrote after these is cut off on resuming.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import writing
from fairseq_xling.core.files import read_record, write_json

_HEADER = 128  # bytes; numpy's own headers of such arrays have this size


class GrowingArrays:
    """Arrays by name, all with the same ``done``.

    Args:
        folder: folder of ``NAME.npy`` and the state file.
        shapes: shape and type of a row of each array.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> arrays = GrowingArrays(folder, {"x": ((2,), np.dtype("float32"))})
    >>> arrays.append({"x": np.ones((3, 2))}, done=3)
    >>> arrays.finish()
    >>> np.load(folder / "x.npy").shape
    (3, 2)
    """

    def __init__(self, folder: Path, shapes: Mapping[str, tuple[tuple[int, ...], np.dtype]]):
        self._folder, self._shapes = folder, dict(shapes)
        self._state = folder / "state.json"
        state = read_record(self._state, {"done": int, "rows": dict})
        rows = state.get("rows", {})
        if not all(type(rows.get(name)) is int for name in shapes):
            state = {}  # nothing noted yet, or damaged
        self.done: int = state.get("done", 0)
        self.rows: dict[str, int] = state.get("rows", dict.fromkeys(shapes, 0))
        self._files = {}
        for name in self._shapes:
            path = folder / f"{name}.npy"
            file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115
            file.truncate(_HEADER + self.rows[name] * self._size(name))
            file.seek(0, os.SEEK_END)
            self._files[name] = file

    def append(self, blocks: Mapping[str, np.ndarray], done: int) -> None:
        """Add rows to the arrays, and record that ``done`` lines are processed."""
        for name, rows in blocks.items():
            shape, dtype = self._shapes[name]
            file = self._files[name]
            with writing(file.name):
                file.write(np.ascontiguousarray(rows.reshape(-1, *shape), dtype).tobytes())
                file.flush()
                os.fsync(file.fileno())
            self.rows[name] += len(rows)
        self.done = done
        write_json(self._state, {"done": done, "rows": self.rows})

    def finish(self) -> None:
        """Write the headers and close the files; the state is no longer needed."""
        for name, file in self._files.items():
            shape, dtype = self._shapes[name]
            facts = {"descr": dtype.str, "fortran_order": False, "shape": (self.rows[name], *shape)}
            file.seek(0)
            np.lib.format.write_array_header_1_0(file, facts)
            if file.tell() != _HEADER:
                raise ValueError(f"the header of {name!r} has {file.tell()} bytes, not {_HEADER}")
            file.flush()
            os.fsync(file.fileno())
            file.close()
        self._state.unlink(missing_ok=True)

    def _size(self, name: str) -> int:
        shape, dtype = self._shapes[name]
        return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
