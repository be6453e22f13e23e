"""fairseq's memory-mapped token files, read and written without importing fairseq.

Layout of ``<prefix>.idx`` (little endian): magic ``MMIDIDX\\0\\0``, version u64 = 1, dtype code u8,
number of items u64, then sizes int32[n] and byte offsets int64[n] into ``<prefix>.bin``, which is
the items' values back to back. fairseq's own ``MMapIndexedDataset`` reads these files; its builder
is not used because its merge overflows past 2 GiB under numpy 2.

Also stored so: sentences as they were before they were cut into pieces, with which translations are
compared (the values are the bytes of their UTF-8), and word alignments, whose links are checked
against the text that they are read with.
"""

import bisect
import functools
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError, visible
from fairseq_xling.core.files import atomic_write

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
_ITEMS = 1 << 15  # items of an index held at a time while they are checked
_BLOCK = 1 << 18  # values held at a time while they are checked
_END = 2  # ``</s>``
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
    workers map the file again. The index is read through once per process.

    Raises:
        UserError: if a file is missing, is not in this format, or is shorter than its index says,
            or if the items of the index are not back to back.
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
        _, version, code, count = _HEADER.unpack(header)
        if version != 1:
            raise UserError(f"{index}: version must be 1, got {version}")
        expected = _HEADER.size + 12 * count
        if code not in _DTYPES or index.stat().st_size != expected:
            found = index.stat().st_size
            raise UserError(f"{index}: damaged index ({found} bytes, not {expected})")
        self.dtype = _DTYPES[code]
        total, self._shortest = _read_index(index, _state(index), count, self.dtype.itemsize)
        self.sizes = _map(index, np.dtype("<i4"), count, _HEADER.size)
        self._offsets = _map(index, np.dtype("<i8"), count, _HEADER.size + 4 * count)
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

    def starts(self, indices: np.ndarray) -> np.ndarray:
        """Where the items ``indices`` (B,) begin in ``tokens``: (B,) int64."""
        return self._offsets[indices] // self.dtype.itemsize

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Items ``start`` to ``stop`` back to back, and their sizes, both new int64 arrays."""
        sizes = self.sizes[start:stop].astype(np.int64)
        begin = int(self._offsets[start]) // self.dtype.itemsize if len(sizes) else 0
        return self.tokens[begin : begin + int(sizes.sum())].astype(np.int64), sizes

    def check_sentences(self, limit: int, dictionary: str | Path) -> None:
        """Read all values, in blocks; once per process and file."""
        data = Path(f"{self.prefix}.bin")
        if len(self) and self._shortest < 1:
            sentence = int(np.argmin(self.sizes)) + 1
            raise UserError(f"{data}: sentence {sentence} is empty; prepare the folder again")
        facts = _read_sentences(self.prefix, _state(data))
        if facts.smallest < 0 or facts.largest >= limit:
            place, value = _first_outside(data, self.dtype, limit)
            sentence = bisect.bisect(self._offsets, place * self.dtype.itemsize)
            raise UserError(
                f"{data}: sentence {sentence} has id {value}, but {dictionary} has only {limit}; "
                "the file is damaged or of another folder, prepare the folder again"
            )
        if facts.unended is not None:
            raise UserError(
                f"{data}: sentence {facts.unended} does not end in </s>; prepare the folder again"
            )
        if facts.inner is not None:
            place, value = facts.inner
            sentence = bisect.bisect(self._offsets, place * self.dtype.itemsize)
            raise UserError(
                f"{data}: sentence {sentence} must have {('<s>', '<pad>', '</s>')[value]} only "
                "where it is added, got it inside; prepare the folder again"
            )
        if len(self) and facts.largest <= _END:
            raise UserError(f"{data}: has no token but </s>; prepare the folder again")

    def state(self) -> tuple[tuple[int, int], ...]:
        """Distinguishes the contents of both files at different times."""
        return tuple(_state(Path(f"{self.prefix}.{end}")) for end in ("idx", "bin"))

    def __reduce__(self):
        return TokenFile, (self.prefix,)


@dataclass(frozen=True)
class _Facts:
    """``unended``: the first item (from 1) without ``</s>``; ``inner``: place and value of the
    first special symbol that is not at the end of an item."""

    smallest: int
    largest: int
    unended: int | None
    inner: tuple[int, int] | None


def _state(path: Path) -> tuple[int, int]:
    """Distinguishes a file's contents at different times."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _blocks(
    path: Path, dtype: np.dtype, most: int, start: int = 0, count: int | None = None
) -> Iterator[np.ndarray]:
    """``count`` values of a file, or all, from byte ``start`` on, ``most`` at a time.

    They are not mapped: what is read here must not count as our memory.
    """
    left = count
    with open(path, "rb") as file:
        file.seek(start)
        while left != 0:
            block = np.fromfile(file, dtype, most if left is None else min(most, left))
            if not len(block):
                return
            yield block
            left = None if left is None else left - len(block)


@functools.cache
def _read_index(path: Path, state: tuple[int, int], count: int, width: int) -> tuple[int, int]:
    """How many values of ``width`` bytes an index counts, and the size of its shortest item."""
    position, shortest, first = 0, 1 << 31, 0
    sizes = _blocks(path, np.dtype("<i4"), _ITEMS, _HEADER.size, count)
    offsets = _blocks(path, np.dtype("<i8"), _ITEMS, _HEADER.size + 4 * count, count)
    for size, offset in zip(sizes, offsets, strict=True):
        ends = position + np.cumsum(size, dtype=np.int64)
        wrong = (size < 0) | (offset != (ends - size) * width)
        if wrong.any():
            item = int(np.argmax(wrong))
            raise UserError(
                f"{path}: damaged index (item {first + item + 1} has {size[item]} values at byte "
                f"{offset[item]}, after {(ends[item] - size[item]) * width} bytes of others); "
                "prepare the folder again"
            )
        position, first = int(ends[-1]), first + len(size)
        shortest = min(shortest, int(size.min()))
    return position, shortest if count else 0


@functools.cache
def _read_sentences(prefix: str, state: tuple[int, int]) -> _Facts:
    """What `TokenFile.check_sentences` compares; no item is empty."""
    file = TokenFile(prefix)
    width, start, table = file.dtype.itemsize, 0, _HEADER.size + 4 * len(file)
    smallest, largest, unended, inner = 0, 0, None, None
    first = min(1, len(file))
    for block in _blocks(Path(f"{prefix}.bin"), file.dtype, _BLOCK):
        smallest, largest = min(smallest, int(block.min())), max(largest, int(block.max()))
        stop = start + len(block)
        # An item ends where the next one begins; the last of the block may end in the next block.
        # (Not numpy's search, which copies what is not aligned in memory: all of the offsets.)
        last = bisect.bisect_left(file._offsets, (stop + 1) * width, first)
        begins = np.fromfile(f"{prefix}.idx", "<i8", last - first, offset=table + 8 * first)
        ends = begins // width - 1 - start
        if stop == len(file.tokens):
            ends = np.append(ends, len(block) - 1)
        missing = block[ends] != _END
        if unended is None and missing.any():
            unended = int(first + np.argmax(missing))
        special = (block >= 0) & (block <= _END)  # <s>, <pad>, </s>
        if inner is None and special.sum() > len(ends):
            special[ends] = False
            place = int(np.argmax(special))
            inner = start + place, int(block[place])
        start, first = stop, last
    return _Facts(smallest, largest, unended, inner)


def _first_outside(path: Path, dtype: np.dtype, limit: int) -> tuple[int, int]:
    """Index and value of the first number in a file that is not in [0, ``limit``)."""
    start = 0
    for block in _blocks(path, dtype, _BLOCK):
        wrong = (block < 0) | (block >= limit)
        if wrong.any():
            place = int(np.argmax(wrong))
            return start + place, int(block[place])
        start += len(block)
    raise UserError(f"{path}: changed while it was read")


def _map(path: Path, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
    if count == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=(count,))


RAW_DTYPE = np.dtype("<u1")


def raw_text_path(stem: str | Path, lang: str) -> Path:
    """Where the text of the side ``lang`` of ``stem`` (``.../<split>.<a>-<b>``) is."""
    return Path(f"{stem}.{lang}.text")


def raw_text_block(lines: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``lines`` back to back, and their sizes.

    A run of white space is one space, also of tabs and of what some programs take for a line end:
    fairseq-generate prints text as columns of a line.
    """
    texts = [" ".join(line.split()).encode() for line in lines]
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    return np.frombuffer(b"".join(texts), dtype=RAW_DTYPE), sizes


class RawText:
    """The sentences of a token file as text: ``text[i]`` is that of item i."""

    def __init__(self, prefix: str | Path):
        self._file = TokenFile(prefix)

    def __len__(self) -> int:
        return len(self._file)

    def __getitem__(self, i: int) -> str:
        try:
            text = self._file[i].astype(RAW_DTYPE).tobytes().decode()
        except UnicodeDecodeError:
            raise UserError(
                f"{self._file.prefix}.bin: sentence {i + 1} is not UTF-8; prepare the folder again"
            ) from None
        return visible(" ".join(text.split()))  # as `raw_text_block` writes it, whoever wrote it


_SENTENCES = 1 << 14  # sentences looked at together: checks need the same memory for any corpus


def same_sizes(one: TokenFile, other: TokenFile) -> bool:
    """Whether both have items of the same lengths."""
    return len(one) == len(other) and all(
        np.array_equal(one.sizes[k : k + _SENTENCES], other.sizes[k : k + _SENTENCES])
        for k in range(0, len(one), _SENTENCES)
    )


def check_links(order: TokenFile, source: TokenFile, target: TokenFile) -> None:
    """Check that ``order`` has for each token of ``target`` the index + 1 of a token of the same
    sentence of ``source``, or 0.
    """
    if not same_sizes(order, target):
        raise UserError(
            f"{order.prefix}: the alignment must have one entry per target token; it was made "
            f"for another version of {target.prefix}"
        )
    _check_inside(order, source)


def check_further(further: TokenFile, source: TokenFile, target: TokenFile) -> None:
    """Check that ``further`` has for all tokens of a sentence of ``target`` equally many such
    numbers, perhaps none.
    """
    fits = len(further) == len(target) and not any(
        (further.sizes[k : k + _SENTENCES] % target.sizes[k : k + _SENTENCES]).any()
        for k in range(0, len(target), _SENTENCES)
    )
    if not fits:
        raise UserError(
            f"{further.prefix}: further links must be equally many for each target token; it was "
            f"made for another version of {target.prefix}"
        )
    _check_inside(further, source)


def _check_inside(order: TokenFile, source: TokenFile) -> None:
    if (found := first_outside(order, source)) is not None:
        sentence, link, length = found
        raise UserError(
            f"{order.prefix}.bin: sentence {sentence} has a link to token {link} of the {length} "
            f"in {source.prefix}; prepare the folder again"
        )


def first_outside(order: TokenFile, source: TokenFile) -> tuple[int, int, int] | None:
    """The first item of ``order`` with a value that is not a token, counted from 1, of the same
    item of ``source``, nor 0: number of the item, value, tokens that there are.

    None if there is no such item. The files are read once per process.
    """
    return _first_link_outside(order.prefix, order.state(), source.prefix, source.state())


@functools.cache
def _first_link_outside(
    order: str, order_state: tuple, source: str, source_state: tuple
) -> tuple[int, int, int] | None:
    links, other = TokenFile(order), TokenFile(source)
    for start in range(0, len(links), _SENTENCES):
        partners, sizes = links.block(start, start + _SENTENCES)
        lengths = other.sizes[start : start + _SENTENCES]
        if len(lengths) < len(sizes):
            return start + len(lengths) + 1, int(partners[0]), 0
        wrong = (partners < 0) | (partners > np.repeat(lengths, sizes))
        if wrong.any():
            place = int(np.argmax(wrong))
            row = int(np.searchsorted(np.cumsum(sizes), place, "right"))
            return start + row + 1, int(partners[place]), int(lengths[row])
    return None
