"""Users' texts: plain, packed or a column of a table; and what is mistaken for a sentence per line.

Tables, JSON, XML, links and vectors are text, too: read as sentences, their numbers, tags and other
languages would be learnt without a word.
"""

import gzip
import io
import lzma
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from fairseq_xling.core.columns import may_have_tabs, open_column
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, decoded, decoded_line, on_disk
from fairseq_xling.core.ranges import bound, exceeds, most_unpacked

_PACKED = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile}
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)  # while one is read
# How files begin that are given for text by mistake.
_NO_TEXT = {
    b"\x1f\x8b": "is packed by gzip; its name must end in .gz",
    b"\xfd7zXZ\0": "is packed by xz; its name must end in .xz",
    b"BZh9": "is packed by bzip2; unpack it",
    b"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it",
    b"PK\3\4": "is a ZIP archive, not text; unpack it",
    b"PAR1": "is a table in Parquet; its name must end in .parquet",
    b"\xff\xfe": "is UTF-16, not UTF-8; convert it, as with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "is UTF-16, not UTF-8; convert it, as with `iconv -f UTF-16 -t UTF-8`",
}

_RETURN = ord("\r")  # `in` takes a fifth of the time with the number that it does with a byte
_STRAY_RETURNS = 8  # carriage returns inside a line that may be text
START = 100  # lines that are looked at
_XML = re.compile(
    r"<(\?xml|!doctype|tmx|xliff|srcset|refset|mteval|doc|url|[a-z]\w*(?=[^<>]*>$))\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\{\s*\".*\}")
# What most lines of files in other forms are like, and what to say of them.
_FORMS = {
    r"\d+-\d+( \d+-\d+)*": "word alignment links",
    r".* \|\|\| .*": "two sentences per line, as fast_align reads them; write a file of each side",
    r"\S+( -?\d+\.\d+(e-?\d+)?){3,}": "vectors of words",
    r"\S+( \S+)* (O|[BIES]-\S+)": "a word and its tag per line; write a sentence per line",
}
_FEW = 2  # lines that may look like one of these by chance


class _Unpacked(io.RawIOBase):
    """A packed file, as long as it is not far larger than any text that was packed."""

    def __init__(self, path: Path):
        self.name, self._file = str(path), _PACKED[path.suffix](path, "rb")
        self._most = most_unpacked(path)
        self._read = 0

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._read += count
        if self._read > self._most:
            raise exceeds("unpacked", bound("unpacked"), self.name)
        return count

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


def open_binary(path: str | Path) -> IO[bytes]:
    """``path`` opened for reading bytes, unpacked if its name ends in ``.gz`` or ``.xz``.

    A column of a table (`columns`) is read as lines.

    Raises:
        UserError: if the file does not exist or is a folder, or is packed otherwise; while it is
            read, if it unpacks to more than the bound.
    """
    check_files(path)
    if (column := open_column(path, byte_lines)) is not None:
        return io.BufferedReader(column, 1 << 16)
    path = Path(path)
    if path.suffix in (".zst", ".bz2"):
        raise UserError(f"{path}: text may be packed as .gz or .xz, not {path.suffix}; unpack it")
    if path.suffix in _PACKED:
        return io.BufferedReader(_Unpacked(path), 1 << 16)
    file = open(path, "rb")  # noqa: SIM115
    for magic, hint in _NO_TEXT.items():
        if file.peek(len(magic)).startswith(magic):
            file.close()
            raise UserError(f"{path}: {hint}")
    return file


def damaged(path: str | Path, error: BaseException) -> UserError:
    """For one of `DAMAGED`."""
    kind = "xz" if Path(path).suffix == ".xz" else "gzip"
    return UserError(f"{path}: damaged {kind} file ({error})")


def byte_lines(path: str | Path, file: IO[bytes] | None = None) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time, unpacked if its name says so.

    Args:
        file: what to read instead, which is open; ``path`` is its name in messages.

    Raises:
        UserError: if the file is missing, is damaged gzip, or has a line that exceeds the bound, or
            several that end in a carriage return alone (names file and line).
    """
    most, number = bound("line"), 0
    try:
        with file or open_binary(path) as file:
            while line := file.readline(most + 1):
                number += 1
                if _RETURN in line:
                    inside = line.rstrip(b"\r\n").count(b"\r")
                    check_returns(f"{path}:{number}", inside, number == 1 and line[-1:] != b"\n")
                if len(line) > most:
                    raise exceeds("line", len(line), f"{path}:{number}")
                yield line
    except DAMAGED as error:
        raise damaged(path, error) from None


def check_returns(where: str, inside: int, alone: bool = False) -> None:
    """Refuse a line that is several, whose ends are ``\\r`` as in files of old Macs.

    A line of real text may have a stray one, which is part of it.

    Args:
        inside: carriage returns before its end.
        alone: whether it is the whole file, which has no ``\\n``.
    """
    if inside > (0 if alone else _STRAY_RETURNS):
        raise UserError(
            f"{where}: lines must end in LF or CR LF, got {inside} CR alone in one line; convert "
            "them, e.g. by `tr '\\r' '\\n'`"
        )


def read_lines(path: str | Path, file: IO[bytes] | None = None) -> Iterator[str]:
    """The lines of a UTF-8 text file, one at a time, without their ``\\n`` (or ``\\r\\n``);
    ``file`` as in `byte_lines`.

    Only ``\\n`` ends a line: ``str.splitlines`` would also split at control characters that occur
    inside real sentences, and shift every line after them.

    Raises:
        UserError: if the file is missing, is not gzip where its name says so, is not UTF-8, or has
            a line that exceeds the bound (names file and line).
    """
    for number, line in enumerate(byte_lines(path, file), start=1):
        yield decoded_line(path, number, line)


def read_text(path: str | Path, kind: str) -> str:
    """All of a UTF-8 text file, of at most the bytes that the bound ``kind`` allows."""
    try:
        with open_binary(path) as file:
            data = file.read(bound(kind) + 1)
    except DAMAGED as error:
        raise damaged(path, error) from None
    return decoded(path, data, kind)


def blank_separated(line: str) -> list[str]:
    """The parts of ``line`` between spaces and tabs.

    Unlike ``str.split``, which also splits at no-break spaces and other characters that occur
    inside the tokens of real files.

    >>> blank_separated("10\\u00a0000  O ")
    ['10\\xa0000', 'O']
    """
    return [part for part in line.replace("\t", " ").split(" ") if part]


def cells_of(line: str) -> list[str]:
    """The cells of a row between tabs, or between spaces if it has no tabs, without white space
    at their ends."""
    cells = line.split("\t") if "\t" in line else blank_separated(line)
    return [cell.strip() for cell in cells]


def is_blank(line: str) -> bool:
    """Whether ``line`` has nothing but spaces and tabs."""
    return not line.strip(" \t")


def normal_form(text: str) -> str:
    """What the subword vocabularies of `prepare` see of a text: those of equal ids have one form.

    Compatible characters are one (NFKC), and white space is a single space, with none at the ends.

    >>> normal_form(" Cafe\u0301\u00a0 noir ")
    'Café noir'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


def canonical(word: str) -> str:
    """A word whose letters are composed (NFC), so that two forms of one spelling are equal."""
    return unicodedata.normalize("NFC", word)


def has_commas(path: str | Path) -> bool:
    """Whether a file has the name of a table with commas between its columns."""
    return str(path).endswith((".csv", ".csv.gz", ".csv.xz"))


def read_sentences(path: str | Path, file: IO[bytes] | None = None) -> Iterator[str]:
    """As `read_lines`, of plain text: a sentence per line."""
    start: list[str] | None = []
    for line in read_lines(path, file):
        if start is not None:
            start.append(line)
            if len(start) == START:
                check_sentences(path, start)
                start = None
        yield line
    if start:
        check_sentences(path, start)


def check_sentences(path: str | Path, start: Sequence[str]) -> None:
    """Refuse what is not a sentence per line, by its first lines."""
    lines = [line.strip() for line in start if line.strip()]
    if lines and (found := _XML.match(lines[0])):
        raise UserError(
            f"{path}: must be plain text, a sentence per line, got XML that begins with "
            f"<{found[1]}; extract its text"
        )
    if lines and "\0" in lines[0]:
        raise UserError(
            f"{path}: has NUL in its first line, as archives and text in UTF-16 do; unpack it, or "
            "convert it, as with `iconv -f UTF-16 -t UTF-8`"
        )
    if on_disk(path) != Path(path):
        return
    objects = sum(_OBJECT.fullmatch(line) is not None for line in lines)
    if 2 * objects > len(lines):
        raise UserError(
            f"{path}: must be plain text, a sentence per line, got JSON; name what to read in a "
            "file FILE.jsonl as in FILE.jsonl:text"
        )
    for form, what in _FORMS.items():
        alike = sum(re.fullmatch(form, line) is not None for line in lines)
        if alike > _FEW and 2 * alike > len(lines):
            raise UserError(f"{path}: must be plain text, a sentence per line, got {what}")
    counts = [line.count("\t") for line in lines]
    tabs = max(counts, key=counts.count, default=0)
    if tabs and len(lines) > 1 and 2 * counts.count(tabs) > len(lines):
        cut = f"such as {path}:{tabs + 1}" if may_have_tabs(path) else f"with `cut -f {tabs + 1}`"
        raise UserError(
            f"{path}: must have a sentence per line, got a table: {counts.count(tabs)} of its "
            f"first {len(lines)} lines have {tabs + 1} columns between tabs; choose one, {cut}"
        )
    if has_commas(path):
        raise UserError(
            f"{path}: must have a sentence per line, got a table by its name; columns are read "
            "where tabs separate them, as in FILE.tsv:2"
        )
