"""Coreference, from CoNLL-2012: two mentions of a sentence, and whether they are of one entity.

Rows have at least 12 columns separated by blanks: the word is in column 3, from 0, and the
last column has the mentions that begin or end at it, as in ``(12|(3)`` or ``12)``, or ``-``. A
blank line ends a sentence; lines that begin with ``#begin`` or ``#end`` are left out. All pairs of
mentions of a sentence are targets, in their order; pairs of two entities have no label.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import blank_separated
from fairseq_xling.json_fields import check_columns
from fairseq_xling.tasks.formats import refuse_withheld
from fairseq_xling.tasks.probing.converters import Rows, converters, groups

_WORD, _COLUMNS = 3, 12
_MENTION = re.compile(r"(\()?([0-9]+)(\))?")
LABEL = "coreferent"


@converters.register("coref")
def coref(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`."""
    check_columns(tuple(columns), "CoNLL-2012")
    for first, rows in _sentences(path):
        pairs = itertools.combinations(_mentions(path, first, [row[-1] for row in rows]), 2)
        yield (
            [row[_WORD] for row in rows],
            [
                {"span1": list(one), "span2": list(two), "label": LABEL if entity == other else []}
                for (*one, entity), (*two, other) in pairs
            ],
        )


def _sentences(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """The number of the first line of each sentence, and the columns of its lines."""
    for first, lines in groups(path, ("#begin", "#end")):
        rows = [blank_separated(line) for line in lines]
        for number, cells in enumerate(rows, start=first):
            if len(cells) < _COLUMNS:
                raise UserError(
                    f"{path}:{number}: must have at least {_COLUMNS} columns, got {len(cells)}"
                )
        refuse_withheld(f"{path}:{first}", [cells[_WORD] for cells in rows])
        yield first, rows


def _mentions(path: Path, first: int, column: Sequence[str]) -> list[tuple[int, int, str]]:
    """First word, end and entity of each mention, sorted."""
    found: list[tuple[int, int, str]] = []
    open_: dict[str, list[int]] = {}
    for word, cell in enumerate(column):
        place = f"{path}:{first + word}"
        for piece in cell.split("|") if cell != "-" else ():
            match = _MENTION.fullmatch(piece)
            if not match or not (match[1] or match[3]):
                raise UserError(
                    f"{place}: a mention must look like (1, 1) or (1), got {shown(piece)}"
                )
            starts = open_.setdefault(match[2], [])
            if match[1]:
                starts.append(word)
            if match[3]:
                if not starts:
                    raise UserError(f"{place}: a mention of {match[2]} ends that did not begin")
                found.append((starts.pop(), word + 1, match[2]))
    left = sorted((starts[0], entity) for entity, starts in open_.items() if starts)
    if left:
        raise UserError(f"{path}:{first + left[0][0]}: the mention of {left[0][1]} does not end")
    return sorted(found)
