"""Semantic proto-roles: a predicate, an argument, and the properties that hold of it.

A table with tabs between columns and these headings, in any order, a line for each property:

    text             predicate  argument  property    response
    The dog ate it   2          0:2       volition    5

Spans count the words of the text, which are separated by spaces, from 0: ``0:2`` is the first two.
A property holds if its response, of 1 to 5, is at least 4 (Teichert et al. 2017, Section 6; Tenney
et al. 2019); ``NA`` is a 1. Lines of one predicate and argument follow each other.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import blank_separated, read_lines
from fairseq_xling.json_fields import check_columns
from fairseq_xling.tasks.items import heading_number
from fairseq_xling.tasks.probing.converters import Rows, Target, converters

_HEADINGS = ("text", "predicate", "argument", "property", "response")
_SPAN = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")
_RESPONSES = ("1", "2", "3", "4", "5", "NA")
_HOLDS = ("4", "5")


@converters.register("spr")
def spr(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`. A pair of which no property holds has an empty list as label."""
    check_columns(tuple(columns), "SPR")
    for text, rows in itertools.groupby(_lines(path), lambda row: row[1]):
        words, targets = blank_separated(text), []
        for pair, own in itertools.groupby(rows, lambda row: row[2:4]):
            lines = list(own)
            spans = [_span(lines[0][0], cell, len(words)) for cell in pair]
            target: Target = {"span1": spans[0], "span2": spans[1], "label": []}
            for place, *_, name, response in lines:
                if not name.strip() or response not in _RESPONSES:
                    raise UserError(
                        f"{place}: must have a property and a response from 1 to 5 or NA, got "
                        f"{shown(name)} and {shown(response)}"
                    )
                if response in _HOLDS:
                    target["label"].append(name)
            targets.append(target)
        yield words, targets


def _lines(path: Path) -> Iterator[tuple[str, ...]]:
    """The place of each line, and its cells in the order of `_HEADINGS`."""
    chosen: list[int] = []
    width = 0
    for number, line in enumerate(read_lines(path), start=1):
        place, cells = f"{path}:{number}", line.split("\t")
        if number == 1:
            header, width = {name: place for place, name in enumerate(cells)}, len(cells)
            chosen = [heading_number(f"{place}: {name}", name, header) for name in _HEADINGS]
            continue
        if len(cells) != width:
            raise UserError(f"{place}: must have {width} columns like the first, got {len(cells)}")
        yield place, *(cells[column] for column in chosen)


def _span(place: str, cell: str, words: int) -> list[int]:
    match = _SPAN.fullmatch(cell.strip())
    if match:
        first = int(match[1])
        end = int(match[2]) if match[2] else first + 1
        if first < end <= words:
            return [first, end]
    raise UserError(
        f"{place}: a span must be a or a:b with 0 <= a < b <= {words}, got {shown(cell)}"
    )
