"""The form of KBP37 (Zhang and Wang 2015) and RELX (Köksal and Özgür 2020).

    12<TAB>" <e1> Thom Yorke </e1> of <e2> Radiohead </e2> has included it . "
    per:employee_of(e1,e2)

A record is an id, a tab and the text between quotation marks with two marked mentions; the line
below it is the relation, whose direction, ``(e1,e2)`` or ``(e2,e1)``, is part of the label;
``no_relation`` has none. Blank lines separate records. A record whose second line is missing, which
means a blank line or the end of the file, is not annotated; either all of a file's are or none.

The text is cut into words at spaces (``pre``; KBP37 is tokenised), or by another segmentation of
`fairseq_xling.text.segment`. The marks are boundaries of words; each mention and the text between
them is segmented by itself. Mentions have no types: both are ``MENTION``. Some of KBP37's have no
words: the word that follows the mark, or else the last, stands for such a mention.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.structures.formats import Format, formats
from fairseq_xling.structures.formats.tacred import NO_RELATION
from fairseq_xling.structures.sentence import Link, Mention, Sentence, check
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.text.segment import Segmentation, segmentations

logger = logging.getLogger(__name__)

_MARK = re.compile(r"(</?e[12]>)")
_TYPE = "MENTION"
_ORDERS = (["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"])


@formats.register("kbp37")
class Kbp37(Format):
    """See the module's docstring."""

    tasks = ("relations",)

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        """See `Format`."""
        cut = segmentations[segment or "pre"]
        annotated, empty = None, 0
        for number, (text, label) in _records(path):
            with one_row():
                if annotated is not None and annotated != (label is not None):
                    raise UserError(
                        f"{path}:{number}: must {'' if annotated else 'not '}have a relation on "
                        "the next line, as the records before"
                    )
                sentence, whole = marked_sentence(path, number, text, label, cut)
                annotated = label is not None
                empty += not whole
                yield sentence
        if annotated is None:
            raise UserError(f"{path}: contains no sentences")
        if empty:
            logger.warning(
                "%s: %d records have a mention without words; the word next to it stands for it",
                path,
                empty,
            )

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """See `Format`: the text line for line as in the input."""
        records = _records(source)
        with atomic_write(path, "w") as file:
            for one in sentences:
                text = next(text for number, (text, _) in records if number == one.line)
                label = one.relations[0].label if one.relations else NO_RELATION
                file.write(f"{text}\n{label}\n\n\n")


def _records(path: Path) -> Iterator[tuple[int, tuple[str, str | None]]]:
    """The line number of each record, its text line, and its label if it has one."""
    text: tuple[int, str] | None = None
    label: str | None = None
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            if text:
                yield text[0], (text[1], label)
            text = label = None
        elif text is None:
            text = number, line
        elif label is None:
            label = line.strip()
        else:
            raise UserError(
                f"{path}:{number}: a blank line must follow the relation, got {shown(line)}"
            )
    if text:
        yield text[0], (text[1], label)


def marked_sentence(
    path: Path, number: int, line: str, label: str | None, cut: Segmentation
) -> tuple[Sentence, bool]:
    """A record, and whether both of its mentions have words."""
    where = f"{path}:{number}"
    name, tab, text = line.partition("\t")
    if not tab:
        raise UserError(f"{where}: must be an id, a tab and a text, got {shown(line)}")
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    pieces = _MARK.split(text)
    marks = pieces[1::2]
    if marks not in _ORDERS:
        raise UserError(
            f"{where}: must have the marks <e1> </e1> and <e2> </e2> once each, neither nested nor "
            f"crossing, got {' '.join(marks) or 'none'}"
        )
    words: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    for place, piece in enumerate(pieces[::2]):
        start = len(words)
        words += cut([piece])[0].split()
        if place % 2:  # between a mark that opens and the one that closes it
            spans[marks[place - 1]] = start, len(words)
    whole = all(start < end for start, end in spans.values())
    last = max(len(words) - 1, 0)
    for mark, (start, end) in spans.items():
        if start == end:
            spans[mark] = min(start, last), min(start, last) + 1
    links = () if label in (None, NO_RELATION) else (Link(0, 1, str(label)),)
    mentions = tuple(Mention(*spans[mark], _TYPE) for mark in ("<e1>", "<e2>"))
    sentence = Sentence(
        str(path), number, name, tuple(words), entities=mentions, relations=links, pairs=((0, 1),)
    )
    return check(sentence), whole
