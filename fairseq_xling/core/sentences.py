"""Plain text with a sentence per line, and what is mistaken for it.

Tables, JSON, XML, links and vectors are text, too: read as sentences, their numbers, tags and other
languages would be learnt without a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from fairseq_xling.core.columns import may_have_tabs, on_disk
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_lines

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
