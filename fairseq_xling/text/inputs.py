"""Checks of all input files before any work starts, cheap ones first.

Each is read once: its contents, and whether it is valid.
"""

import codecs
import hashlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import TO_UTF8, check_files, on_disk, stat_of, without_bom
from fairseq_xling.core.progress import progress
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.texts import (
    DAMAGED,
    START,
    byte_lines,
    check_returns,
    check_sentences,
    damaged,
    open_binary,
)
from fairseq_xling.text.anchors import Entry, read_entries
from fairseq_xling.text.blocks import lines_of, parallel_blocks
from fairseq_xling.text.link_rules import many_to_one
from fairseq_xling.text.links import (
    FirstWord,
    align_units,
    check_range,
    count_from_one,
    parse_pharaoh,
)
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.segment import OtherWords, segmentations, words_of
from fairseq_xling.text.sources import Pair, Sources
from fairseq_xling.text.tokenizers.pieces import ready_pieces

_BLOCK = 1 << 20
logger = logging.getLogger(__name__)
# What is no text, by bytes that are in it: its pattern, how it is called, and what to do about it.
_MARKS = {
    b"@@ ": (rb"\S@@ ", "`@@ ` of subword-nmt", "`sed 's/@@ //g'` joins its pieces"),
    "\u2581".encode(): ("\u2581".encode(), "`\u2581` of sentencepiece", "`spm_decode` joins them"),
    b" ##": (rb" ##\w", "`##` of BERT's pieces", "`sed 's/ ##//g'` joins them"),
    b"&": (
        rb"&(?:apos|quot|amp|lt|gt|#\d+);",
        "escapes such as `&apos;`",
        "Python's `html.unescape` replaces them",
    ),
    b"<": (rb"(?m)^\s*<[^<>\n]+>\s*$", "lines of a tag alone", "remove them, and their partners"),
}
_FEW = 0.001  # a line, as chance has it in text about such things


@dataclass(frozen=True)
class TextFacts:
    """The size of a text file: lines, non-empty lines, and bytes (after unpacking)."""

    lines: int
    sentences: int
    bytes: int


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
    newlines = size = blank = 0
    rest = returns = 0  # bytes, and carriage returns, of the line in which the last block ended
    marks = dict.fromkeys(_MARKS, 0)
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
                    where = f"{path}:{line}"
                    raise UserError(f"{where}: not UTF-8 ({error.reason}); {TO_UTF8}") from None
                if not size:
                    lines = block.decode("utf-8", "ignore").split("\n", START)[:START]
                    check_sentences(path, [without_bom(line) for line in lines])
                begin, end = block.find(b"\n"), block.rfind(b"\n")
                own = rest + (len(block) if begin < 0 else begin)
                check_bound("line", own, f"{path}:{newlines + 1}")
                rest = own if end < 0 else len(block) - end - 1
                returns = _check_returns(path, newlines + 1, returns, block)
                if b"\0" in block:
                    line = newlines + block[: block.index(b"\0")].count(b"\n") + 1
                    raise UserError(f"{path}:{line}: has NUL, which is no text; remove the line")
                for mark in filter(block.__contains__, marks):
                    marks[mark] += len(re.findall(_MARKS[mark][0], block))
                newlines += block.count(b"\n")
                # Newlines that follow another one; str.count does not see overlapping matches.
                both = last + block
                blank += both.count(b"\n\n")
                blank += both.replace(b"\n\n", b"\n \n").count(b"\n\n")
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
    for mark, count in marks.items():
        if count > _FEW * ended:
            logger.warning("%s: has %s %s, read as text; %s", path, f"{count:,}", *_MARKS[mark][1:])
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


@dataclass
class Inputs:
    """The contents of the input files.

    Attributes:
        facts: by text file.
        dictionaries: word pairs by language pair.
    """

    facts: dict[Path, TextFacts]
    dictionaries: dict[Pair, list[Entry]]


def surfaces(sources: Sources) -> dict[str, list[dict[str, Any]]]:
    """Name, size and time of every input file by its role: what tells, without terabytes to read,
    that one has changed.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for role, files in _checked_roles(sources).items():
        states = [(file.name, stat_of(file)) for file in files]
        found[role] = [
            {"file": name, "bytes": state.st_size, "mtime_ns": state.st_mtime_ns}
            for name, state in states
        ]
    return found


def _checked_roles(sources: Sources) -> dict[str, tuple[Path, ...]]:
    roles = sources.by_role()
    for files in roles.values():
        for file in files:
            check_files(file)
            if stat_of(file).st_size == 0:
                raise UserError(f"{file}: is empty")
    return roles


def fingerprint(sources: Sources) -> dict[str, list[dict[str, Any]]]:
    """Name, size and SHA-256 of every input file by its role, as ``meta.json`` records them."""
    roles = _checked_roles(sources)
    total = sum(stat_of(file).st_size for files in roles.values() for file in files)
    digests: dict[Path, dict[str, Any]] = {}
    with progress(total, "reading input files", checks=True) as bar:
        for files in roles.values():
            for file in files:
                if file not in digests:
                    digests[file] = _digest(file, bar.update)
    return {role: [digests[file] for file in files] for role, files in roles.items()}


def _digest(path: Path, advance) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with open(on_disk(path), "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            size += len(piece)
            advance(len(piece))
    return {"file": path.name, "bytes": size, "sha256": digest.hexdigest()}


def check_inputs(
    sources: Sources, options: PrepareOptions, known: Mapping[str, Any] | None = None
) -> Inputs:
    """Read every file once and check it.

    Args:
        known: facts of an earlier check of the same files (``facts_to_json``); then only the
            dictionaries are read.

    Raises:
        UserError: for text that is not UTF-8 or empty, sides of different length, an alignment of
            another length, links that are malformed or out of range, a malformed dictionary, and
            a tokenizer that cannot be used.
    """
    for file in set(sources.tokenizers.values()):
        ready_pieces(file, file.name, options.vocab_type)
    dictionaries = {pair: read_entries(file) for pair, file in sources.dictionaries.items()}
    texts = [f for files in (*sources.mono.values(), *sources.parallel.values()) for f in files]
    # The interrupted run may have reached the same files by other paths.
    if known is not None and {str(file) for file in texts} <= set(known):
        facts = {Path(name): TextFacts(**values) for name, values in known.items()}
        return Inputs(facts, dictionaries)
    facts = {}
    with progress(None, "checking text", checks=True) as bar:
        for file in dict.fromkeys(texts):
            facts[file] = scan_text(file, bar.update)
    for sides in sources.parallel.values():
        check_lines(sides, [facts[file].lines for file in sides])
    for (split, pair), file in sources.alignments.items():
        sides = sources.parallel[split, pair]
        _check_alignment(file, sides, pair, facts[sides[0]].lines, options)
    return Inputs(facts, dictionaries)


def check_lines(sides: Sequence[Path], counts: Sequence[int]) -> None:
    """Reject files of parallel text with different numbers of lines."""
    if counts[0] != counts[1]:
        raise UserError(
            f"parallel files must have equally many lines, got {counts[0]} in {sides[0]} and "
            f"{counts[1]} in {sides[1]}"
        )


def facts_to_json(inputs: Inputs) -> dict[str, Any]:
    """For a work folder: what ``check_inputs`` takes as ``known``."""
    return {str(path): asdict(facts) for path, facts in inputs.facts.items()}


def _check_alignment(
    file: Path, sides: tuple[Path, Path], pair: Pair, lines: int, options: PrepareOptions
) -> None:
    """Check the number of lines and every link's format; if links connect words, also its range."""
    found = sum(1 for _ in byte_lines(file))
    if found != lines:
        raise UserError(f"{file}: needs a line for each of {lines} sentence pairs, got {found}")
    segmenters = [segmentations[options.segment[lang]] for lang in pair]
    first, first_word = options.links_from, FirstWord(str(file), options.links_from)
    others = [OtherWords(side) for side in sides]
    for block in parallel_blocks([file, *sides], None):
        links = parse_pharaoh(block.sides[0], str(file), block.first_line, first)
        first_word.see(links)
        rule = many_to_one[options.many_to_one]
        if rule.needs_probability and links.probability is None and len(links.row):
            raise UserError(
                f"{file}:{block.first_line + links.row[0]}: `--many-to-one {options.many_to_one}` "
                "needs links with probabilities, as in 0-0:0.5"
            )
        if align_units[options.file_unit]:
            texts = [lines_of(data) for data in block.sides[1:]]
            for other, lines in zip(others, texts, strict=True):
                other.see(lines)
            counts = [
                np.array([len(words_of(text)) for text in segment(lines)], dtype=np.int64)
                for segment, lines in zip(segmenters, texts, strict=True)
            ]
            try:
                check_range(links, *counts, str(file), block.first_line, first=first)
            except UserError as error:
                if first == 0 and count_from_one(links, *counts):
                    raise
                how = ",".join(f"{lang}={options.segment[lang]}" for lang in pair)
                raise UserError(f"{error}, with words counted after `--segment {how}`") from None
    for warning in (first_word, *others):
        warning.end()
