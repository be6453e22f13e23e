"""Constituents, from bracketed trees: a span and the types of the constituents that cover it.

    ( (S (NP-SBJ (PRP It)) (VP (VBZ rains)) (. .)))

A tree may have several lines. Words with their parts of speech are no constituents, nor are ROOT,
TOP and brackets without a type. Functions and indices, as in NP-SBJ-1, are left out, and so are
empty elements (-NONE-). Constituents of the same words are one target with several labels.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairseq_xling.bounds import check_bound
from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import read_lines
from fairseq_xling.json_fields import check_columns
from fairseq_xling.tasks.probing.converters import Rows, Target, converters

_PIECE = re.compile(r"[()]|[^ \t()]+")
_NO_TYPE = ("", "ROOT", "TOP")
_EMPTY = "-NONE-"
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@converters.register("consts")
def consts(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`."""
    check_columns(tuple(columns), "bracketed")
    words: list[str] = []
    labels: dict[tuple[int, int], list[str]] = {}
    stack: list[_Open] = []
    place = str(path)
    for place, piece in _pieces(path):
        if piece == "(":
            if stack and stack[-1].word:
                raise UserError(f"{place}: a word and a bracket must not be in one bracket")
            if stack:
                stack[-1].filled = True
            stack.append(_Open(place, len(words)))
            check_bound("brackets", len(stack), place)
        elif piece == ")":
            if not stack:
                raise UserError(f"{place}: a closing bracket must have an opening one")
            node = stack.pop()
            if node.word and node.type != _EMPTY:
                words.append(_BRACKETS.get(node.word, node.word))
            elif not node.word:
                if not node.filled:
                    raise UserError(f"{place}: a bracket must have words, got none")
                name = _plain(node.type)
                if name not in _NO_TYPE and node.start < len(words):
                    labels.setdefault((node.start, len(words)), []).insert(0, name)
            if not stack:
                yield words, _targets(labels)
                words, labels = [], {}
        elif not stack:
            raise UserError(f"{place}: a tree must begin with a bracket, got {shown(piece)}")
        elif stack[-1].filled or stack[-1].word:
            raise UserError(
                f"{place}: a bracket must have a type and then brackets or one word, got "
                f"{shown(piece)}"
            )
        elif stack[-1].type:
            stack[-1].word = piece
        else:
            stack[-1].type = piece
    if stack:
        raise UserError(f"{stack[-1].place}: the bracket is not closed")


class _Open:
    """A bracket that is still open: where it is, its first word, its type, its word if any."""

    def __init__(self, place: str, start: int):
        self.place, self.start, self.type, self.word, self.filled = place, start, "", "", False


def _pieces(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        for piece in _PIECE.findall(line):
            yield f"{path}:{number}", piece


def _plain(name: str) -> str:
    """The type without functions and indices.

    >>> _plain("NP-SBJ-1"), _plain("NP=2"), _plain("PRT|ADVP")
    ('NP', 'NP', 'PRT|ADVP')
    """
    return re.split("[-=]", name, maxsplit=1)[0]


def _targets(labels: Mapping[tuple[int, int], list[str]]) -> list[Target]:
    # From the outermost constituent to its parts.
    spans = sorted(labels, key=lambda span: (span[0], -span[1]))
    return [
        {"span1": list(span), "label": labels[span] if labels[span][1:] else labels[span][0]}
        for span in spans
    ]
