"""fairseq's memory-mapped token files, read and written without importing fairseq.

Layout of ``<prefix>.idx`` (little endian): magic ``MMIDIDX\\0\\0``, version u64 = 1, dtype code u8,
number of items u64, then sizes int32[n] and byte offsets int64[n] into ``<prefix>.bin``, which is
the items' values back to back. fairseq's own ``MMapIndexedDataset`` reads these files; its builder
is not used because its merge overflows past 2 GiB under numpy 2.
"""

import functools
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write

_MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQ")
_DTYPES = {
    1: np.dtype("<u1"),
    2: np.dtype("<i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    8: np.dtype("<u2"),
    9: np.dtype("<u4"),
}
_PIECE = 1 << 18  # sizes held at a time while an index is written
_BLOCK = 1 << 20  # values held at a time while they are checked
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


def best_dtype(largest: int) -> np.dtype:
    """The type that fairseq chooses for values up to ``largest``: u2 below 65,500, else i4."""
    return np.dtype("<u2") if largest < 65500 else np.dtype("<i4")


def write_index(prefix: str | Path, sizes: np.ndarray | str | Path, dtype: np.dtype) -> None:
    """Write ``<prefix>.idx`` for items of ``sizes`` (n,) values of ``dtype`` in ``<prefix>.bin``.

    ``sizes`` may also be the path of a file of int32 values, which is then read in pieces: a
    corpus of any length is indexed in the same memory.
    """
    dtype = np.dtype(dtype)
    on_disk = isinstance(sizes, (str, Path))
    count = os.path.getsize(sizes) // 4 if on_disk else len(sizes)

    def pieces() -> Iterator[np.ndarray]:
        for start in range(0, count, _PIECE):
            if on_disk:
                yield np.fromfile(sizes, dtype="<i4", count=_PIECE, offset=4 * start)
            else:
                yield np.asarray(sizes[start : start + _PIECE], dtype="<i4")

    with atomic_write(f"{prefix}.idx") as file:
        file.write(_HEADER.pack(_MAGIC, 1, _CODES[dtype], count))
        for piece in pieces():
            file.write(piece.tobytes())
        position = 0
        for piece in pieces():
            ends = np.cumsum(piece, dtype="<i8")
            file.write(((position + ends - piece) * dtype.itemsize).astype("<i8").tobytes())
            position += int(ends[-1])


def write_items(prefix: str | Path, items: Iterable[np.ndarray], dtype: np.dtype) -> None:
    """Write both files, item by item; the index last, so that its presence means completeness."""
    sizes = []
    with atomic_write(f"{prefix}.bin") as file:
        for item in items:
            file.write(np.asarray(item, dtype=dtype).tobytes())
            sizes.append(len(item))
    write_index(prefix, np.array(sizes, dtype="<i4"), np.dtype(dtype))


class TokenFile:
    """Read-only view of ``<prefix>.{bin,idx}``; ``file[i]`` is item i, ``file.tokens`` all of it.

    Nothing is read ahead: memory does not grow with the file. Pickles as its path, so loader
    workers map the file again.

    Raises:
        UserError: if a file is missing, is not in this format, or is shorter than its index says.
    """

    def __init__(self, prefix: str | Path):
        self.prefix = str(prefix)
        index, data = Path(f"{prefix}.idx"), Path(f"{prefix}.bin")
        for path in (index, data):
            if not path.is_file():
                raise UserError(f"{path}: no such file")
        with open(index, "rb") as file:
            header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_MAGIC):
            raise UserError(f"{index}: not an index of fairseq's mmap format")
        _, _, code, count = _HEADER.unpack(header)
        expected = _HEADER.size + 12 * count
        if code not in _DTYPES or index.stat().st_size != expected:
            found = index.stat().st_size
            raise UserError(f"{index}: damaged index ({found} bytes, not {expected})")
        self.dtype = _DTYPES[code]
        self.sizes = _map(index, np.dtype("<i4"), count, _HEADER.size)
        self._offsets = _map(index, np.dtype("<i8"), count, _HEADER.size + 4 * count)
        total = 0
        if count:
            total = int(self._offsets[-1]) // self.dtype.itemsize + int(self.sizes[-1])
        if data.stat().st_size != total * self.dtype.itemsize:
            raise UserError(
                f"{data}: {data.stat().st_size} bytes, but its index counts "
                f"{total * self.dtype.itemsize}"
            )
        self.tokens = _map(data, self.dtype, total, 0)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, i: int) -> np.ndarray:
        """Item ``i`` as a new int64 array (n,)."""
        start = int(self._offsets[i]) // self.dtype.itemsize
        return self.tokens[start : start + int(self.sizes[i])].astype(np.int64)

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Items ``start`` to ``stop`` back to back, and their sizes, both new int64 arrays."""
        sizes = self.sizes[start:stop].astype(np.int64)
        begin = int(self._offsets[start]) // self.dtype.itemsize if len(sizes) else 0
        return self.tokens[begin : begin + int(sizes.sum())].astype(np.int64), sizes

    def check_below(self, limit: int, dictionary: str | Path) -> None:
        """Read all values once, in blocks; once per process and file.

        Raises:
            UserError: if one is not in [0, ``limit``), the ids of ``dictionary``.
        """
        data = Path(f"{self.prefix}.bin")
        found = _first_outside(data, data.stat().st_mtime_ns, self.dtype, limit)
        if found is not None:
            place, value = found
            sentence = int(np.searchsorted(self._offsets, place * self.dtype.itemsize, "right"))
            raise UserError(
                f"{data}: sentence {sentence} has id {value}, but {dictionary} has only {limit}; "
                "the file is damaged or of another folder, prepare the folder again"
            )

    def __reduce__(self):
        return TokenFile, (self.prefix,)


@functools.cache
def _first_outside(path: Path, changed: int, dtype: np.dtype, limit: int) -> tuple[int, int] | None:
    """Index and value of the first number in a file that is not in [0, ``limit``).

    ``changed`` distinguishes a file's contents at different times.
    """
    if dtype.kind == "u" and limit > np.iinfo(dtype).max:
        return None
    start = 0
    with open(path, "rb") as file:  # not mapped: what is read must not count as our memory
        while len(block := np.fromfile(file, dtype, _BLOCK)):
            if block.max() >= limit or block.min() < 0:
                place = int(np.argmax((block >= limit) | (block < 0)))
                return start + place, int(block[place])
            start += len(block)
    return None


def _map(path: Path, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
    if count == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=(count,))
