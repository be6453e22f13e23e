"""One pass over each input before any work starts: its contents, and whether it is valid."""

import codecs
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.bounds import check_bound
from fairseq_xling.errors import UserError
from fairseq_xling.files import DAMAGED, check_returns, damaged, open_binary, without_bom
from fairseq_xling.sentences import START, check_sentences

_BLOCK = 1 << 20


@dataclass(frozen=True)
class TextFacts:
    """The size of a text file: lines, non-empty lines, and bytes (after unpacking)."""

    lines: int
    sentences: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def scan_text(path: str | Path, advance: Callable[[int], Any] = lambda n: None) -> TextFacts:
    """Read ``path`` once in pieces and check that it is UTF-8 text.

    Args:
        path: text, packed if its name ends in ``.gz`` or ``.xz``.
        advance: called with the number of bytes read since the last call.

    Raises:
        UserError: if the file is missing, contains no text, is damaged, is not UTF-8 (names file
            and line), has lines that end in a carriage return alone, or has another form than a
            sentence per line.
    """
    newlines = ended = size = 0
    blank = rest = 0  # rest: bytes of the line in which the last block ended
    returns = 0  # carriage returns of that line
    decoder = codecs.getincrementaldecoder("utf-8")()
    last = b"\n"
    try:
        with open_binary(path) as file:
            while block := file.read(_BLOCK):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    # Bytes kept from the last block contain no newline: they are half a character.
                    line = newlines + error.object[: error.start].count(b"\n") + 1
                    raise UserError(f"{path}:{line}: not UTF-8 ({error.reason})") from None
                if not size:
                    lines = block.decode("utf-8", "ignore").split("\n", START)[:START]
                    check_sentences(path, [without_bom(line) for line in lines])
                begin, end = block.find(b"\n"), block.rfind(b"\n")
                own = rest + (len(block) if begin < 0 else begin)
                check_bound("line", own, f"{path}:{newlines + 1}")
                rest = own if end < 0 else len(block) - end - 1
                returns = _check_returns(path, newlines + 1, returns, block)
                newlines += block.count(b"\n")
                blank += _blank_lines(last + block)
                last = block[-1:]
                size += len(block)
                advance(len(block))
            if decoder.getstate()[0]:
                raise UserError(f"{path}:{newlines + 1}: not UTF-8 (unexpected end of file)")
    except DAMAGED as error:
        raise damaged(path, error) from None
    check_returns(f"{path}:1", 0 if newlines else returns - (last == b"\r"), alone=True)
    ended = newlines + (last != b"\n")
    if ended == blank:
        raise UserError(f"{path}: contains no text")
    return TextFacts(ended, ended - blank, size)


def _check_returns(path: str | Path, line: int, before: int, block: bytes) -> int:
    """The carriage returns of the last line of ``block``, whose first is ``line`` and had so many
    ``before``."""
    returns = block.count(b"\r")
    if not before and returns == block.count(b"\r\n"):  # as in most files, whose lines are many
        return 0
    if returns:
        for number, part in enumerate(block.split(b"\n"), start=line):
            before = part.count(b"\r") + (before if number == line else 0)
            check_returns(f"{path}:{number}", before - part.endswith(b"\r"))
        return before
    return 0 if b"\n" in block else before


def _blank_lines(block: bytes) -> int:
    """Newlines that directly follow another one; ``block`` begins one byte early."""
    # str.count does not see overlapping matches, so long runs are split first.
    total = block.count(b"\n\n")
    return total + block.replace(b"\n\n", b"\n \n").count(b"\n\n") if total else 0
