"""Text files as blocks of whole lines, from any position.

A position is a list of numbers that a journal can store; memory does not grow with the files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fairseq_xling.core.files import without_bom
from fairseq_xling.core.texts import open_binary, read_sentences

BLOCK_BYTES = 1 << 20
_ALL = 1 << 62  # more bytes, or lines, than a file has
BLOCK_SENTENCES = 2048


@dataclass(frozen=True)
class Section:
    """Some lines of a file, one after the other: what one of several shards reads of it.

    Attributes:
        start, stop: where they begin and end, in bytes after unpacking.
        first_line: number of the first of them, from 1.
        lines: how many they are.
    """

    path: Path
    start: int = 0
    stop: int = _ALL
    first_line: int = 1
    lines: int = _ALL

    def __str__(self) -> str:
        return str(self.path)


def _whole(file: Path | Section) -> Section:
    return file if isinstance(file, Section) else Section(file)


@dataclass(frozen=True)
class Block:
    """Lines of each of some parallel files (or of one file).

    Attributes:
        sides: the bytes of the lines, one entry per file.
        first_line: number of the first of these lines, from 1.
        position: where the next block begins.
        bytes: how much of the first two files this is.
    """

    sides: tuple[bytes, ...]
    first_line: int
    position: list[int]
    bytes: int


def mono_blocks(files: Sequence[Path | Section], position: Sequence[int] | None) -> Iterator[Block]:
    """Blocks of files, or sections of files, read one after another."""
    start, offset = position or (0, None)
    for i, section in enumerate(map(_whole, files[start:]), start=start):
        offset = section.start if offset is None else offset
        with open_binary(section.path) as file:
            file.seek(offset)
            while data := file.read(min(BLOCK_BYTES, section.stop - offset)):
                if offset + len(data) < section.stop:
                    data += file.readline()
                offset += len(data)
                yield Block((data,), 0, [i, offset], len(data))
        offset = None


def parallel_blocks(
    sides: Sequence[Path | Section], position: Sequence[int] | None
) -> Iterator[Block]:
    """Blocks of files of equally many lines, or of such sections: the same lines of each."""
    sections = [_whole(side) for side in sides]
    line, *offsets = position or (sections[0].first_line, *(s.start for s in sections))
    end = sections[0].first_line + sections[0].lines
    files = [open_binary(section.path) for section in sections]
    try:
        for file, offset in zip(files, offsets, strict=True):
            file.seek(offset)
        while lines := files[0].readlines(BLOCK_BYTES)[: end - line]:
            sides = [lines, *(list(islice(file, len(lines))) for file in files[1:])]
            data = tuple(b"".join(side) for side in sides)
            first, line = line, line + len(lines)
            offsets = [offset + len(side) for offset, side in zip(offsets, data, strict=True)]
            yield Block(data, first, [line, *offsets], sum(map(len, data[:2])))
    finally:
        for file in files:
            file.close()


def lines_of(data: bytes) -> list[str]:
    """The lines of a block, without byte order marks (files that were joined have several).

    A ``\\r`` at their end is white space that segmentation drops.

    >>> lines_of("a\\n\\nb".encode())
    ['a', '', 'b']
    """
    text = data.decode("utf-8")
    lines = without_bom(text).replace("\n\ufeff", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def sentence_blocks(text: Path, done: int) -> Iterator[Sequence[str]]:
    """The lines of ``text`` after the first ``done``, up to `BLOCK_SENTENCES` at a time."""
    lines = islice(read_sentences(text), done, None)
    while block := list(islice(lines, BLOCK_SENTENCES)):
        yield block
