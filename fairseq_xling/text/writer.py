"""Token files that grow chunk by chunk and survive being killed at any moment.

While a job is unfinished its data is in a work folder: raw values, raw sizes, and a journal that
records how far they are valid and where reading must resume. A new run cuts off everything beyond
the journal and continues, so the finished files do not depend on how often it was interrupted.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import writing
from fairseq_xling.core.files import read_record, write_json
from fairseq_xling.data.mmap import write_index

Block = tuple[np.ndarray, np.ndarray]  # values of some items back to back, and their sizes

_SYNC_BYTES = 32 << 20  # work that may be lost if killed


class ResumableFiles:
    """Several token files written in step, one item each per step or chunk by chunk.

    Args:
        outputs: value type by final path (without ``.bin``/``.idx``).
        work: folder for unfinished parts, on the same file system.
        name: of this job, unique inside ``work``.
        start: ``position`` of a job that has not started yet.
    """

    def __init__(self, outputs: Mapping[Path, np.dtype], work: Path, name: str, start: Any = None):
        self._outputs = dict(outputs)
        self._stem = work / name.replace("/", ".")
        self._stem.parent.mkdir(parents=True, exist_ok=True)
        self._journal = Path(f"{self._stem}.journal.json")
        state = {"position": start, "counts": {}, "lengths": {}, "complete": False, "read": 0}
        kinds = {name: object if name == "position" else type(state[name]) for name in state}
        noted = read_record(self._journal, kinds)
        # Else there is none yet, it is damaged, or an earlier version that wrote less began this.
        if len(noted) == len(state) and len(noted["lengths"]) == 2 * len(self._outputs):
            state = noted
        self.position: Any = state["position"]
        self.counts: dict[str, int] = state["counts"]
        self.read: int = state["read"]
        self.complete: bool = state["complete"]
        self._files = {}
        self._unsynced = 0
        if not self.complete:
            for i in range(len(self._outputs)):
                for kind in ("bin", "sizes"):
                    path = self._part(i, kind)
                    length = state["lengths"].get(path.name, 0)
                    path.touch()
                    file = open(path, "r+b")  # noqa: SIM115
                    file.truncate(length)
                    file.seek(length)
                    self._files[path] = file

    def _part(self, i: int, kind: str) -> Path:
        return Path(f"{self._stem}.{i}.{kind}")

    def append(
        self, blocks: list[Block], position: Any, counts: Mapping[str, int], read: int
    ) -> None:
        """Add one chunk: a block for each output, then the position to resume reading from."""
        with writing(self._stem.parent):
            outputs = zip(blocks, self._outputs.values(), strict=True)
            for i, ((values, sizes), dtype) in enumerate(outputs):
                for kind, array, written_as in (("bin", values, dtype), ("sizes", sizes, "<i4")):
                    data = np.ascontiguousarray(array, dtype=written_as)
                    self._files[self._part(i, kind)].write(data.data)
                    self._unsynced += data.nbytes
        self.position = position
        self.read += read
        for key, value in counts.items():
            self.counts[key] = self.counts.get(key, 0) + int(value)
        if self._unsynced > _SYNC_BYTES:
            self._sync(complete=False)

    def _sync(self, complete: bool) -> None:
        with writing(self._stem.parent):
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
        state = {
            "position": self.position,
            "counts": self.counts,
            "read": self.read,
            "lengths": {path.name: file.tell() for path, file in self._files.items()},
            "complete": complete,
        }
        write_json(self._journal, state)
        self._unsynced = 0

    def finish(self) -> dict[str, int]:
        """Move everything into place and return the counts; each step can be repeated."""
        if not self.complete:
            self._sync(complete=True)
            self.complete = True
        self.close()
        for i, (output, dtype) in enumerate(self._outputs.items()):
            output.parent.mkdir(parents=True, exist_ok=True)
            data, sizes = self._part(i, "bin"), self._part(i, "sizes")
            if data.exists():
                os.replace(data, f"{output}.bin")
            if sizes.exists():
                write_index(output, sizes, np.dtype(dtype))
                sizes.unlink()
        return self.counts

    def close(self) -> None:
        """Close the files; what is not in the journal is lost."""
        for file in self._files.values():
            file.close()
        self._files = {}
