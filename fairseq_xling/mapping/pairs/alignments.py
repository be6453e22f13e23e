"""Aligned tokens: word alignments in Pharaoh format, over folders of tokens of a parallel text.

A link ``i-j`` is between words, as `fairseq-xling align` counts them, or between subwords. A word's
vector is the mean of its subwords'. Words must be those of the text as segmented by the data
folder: align with ``--segment-source`` and ``--segment-target`` as in `prepare`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import FIRST_WORD
from fairseq_xling.core.texts import byte_lines
from fairseq_xling.mapping.pairs import PAIRS, text_keys
from fairseq_xling.mapping.states import Selection, States
from fairseq_xling.text.links import FirstWord, Links, check_range, count_from_one, parse_pharaoh

_LINES = 128  # in a block
_LONGEST = 1 << 20  # units of a line
_COLUMNS = {"subword": (0, "places"), "word": (1, "words")}  # of lengths.npy; place in the line


class UnitPlaces:
    """The location of each line's words, or subwords, in a folder."""

    def __init__(self, states: States, unit: str):
        column, name = _COLUMNS[unit]
        if states.sizes is None:
            raise UserError(f"{states.path}: has no sentences.npy; extract the folder again")
        self.sizes = states.sizes
        self.lengths = states.extra("lengths", (len(self.sizes), 2))[:, column]
        self.places = states.extra(name, (states.rows,))
        if ((self.lengths < 0) | (self.lengths > _LONGEST)).any():
            raise UserError(f"{states.path}: lengths.npy must lie in [0, {_LONGEST}]")
        # Units that a line does not have would be read as the next line's.
        last = np.repeat(self.lengths, self.sizes)
        wrong = (self.places < 0) | (self.places >= last)
        if wrong.any():
            row = int(wrong.argmax())
            raise UserError(
                f"{states.path}: places and lengths must fit each other, got place "
                f"{self.places[row]} in a line of {last[row]} (row {row}); extract the folder again"
            )


class UnitBlock:
    """Lines ``start`` to ``stop`` of a `UnitPlaces`, whose rows begin at ``first``.

    Attributes:
        end: the row after its last one.
    """

    def __init__(self, units: UnitPlaces, start: int, stop: int, first: int):
        lengths = np.asarray(units.lengths[start:stop], dtype=np.int64)
        sizes = np.asarray(units.sizes[start:stop], dtype=np.int64)
        self._first, self.end = first, first + int(sizes.sum())
        self._offsets = np.cumsum(lengths) - lengths  # units before each line
        line = np.repeat(np.arange(len(sizes)), sizes)
        unit = self._offsets[line] + units.places[first : self.end]  # of each row
        self._counts = np.bincount(unit, minlength=int(lengths.sum()))  # rows of each unit
        self._starts = np.cumsum(self._counts) - self._counts

    def find(self, lines: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First rows and numbers of rows (n,) of units of lines; 0 where a unit has none."""
        chosen = self._offsets[lines] + units
        return self._first + self._starts[chosen], self._counts[chosen]


@dataclass(frozen=True)
class AlignmentOptions:
    """How links are read."""

    align_unit: str = option(
        "word",
        "unit that links connect: word (the mean of its subwords) or subword",
        choices=tuple(_COLUMNS),
    )
    swap: bool = option(False, "i of a link i-j is FIXED's, j is MOVING's")
    links_from: int = option(0, "number of the first word in links, 0 or 1", range=FIRST_WORD)


@PAIRS.register("alignments")
class Alignments:
    """See the module's docstring. The whole file is checked at the start.

    Raises:
        UserError: if lines or links do not fit the folders (names the file and line).
    """

    reads = True
    options = AlignmentOptions

    def __init__(self, moving: States, fixed: States, file: Path | None, options: AlignmentOptions):
        for states in (moving, fixed):
            if states.unit != "tokens":
                raise UserError(
                    f"{states.path}: must contain tokens, got {states.unit}; extract with "
                    "`--unit tokens`"
                )
        unit = options.align_unit
        self._file, self._swap, self._unit = Path(str(file)), options.swap, unit
        self._first = options.links_from
        self._sides = UnitPlaces(moving, unit), UnitPlaces(fixed, unit)
        sizes = [len(side.sizes) for side in self._sides]
        if sizes[0] != sizes[1]:
            raise UserError(
                f"`--pairs alignments` needs folders of parallel text, got {sizes[0]} lines in "
                f"{moving.path} and {sizes[1]} in {fixed.path}"
            )
        self.count = self._left_out = 0
        self.count = sum(len(chosen) for chosen, _ in self)
        self.keys = text_keys(moving, fixed)
        self.facts = {"links": self.count + self._left_out, "unknown or cut": self._left_out}
        if not self.count:
            raise UserError(f"{file}: has no link between words that both folders have")

    def __iter__(self) -> Iterator[tuple[Selection, Selection]]:
        self._left_out = 0
        ends = [0, 0]
        for start, links in self._links():
            stop = start + links.rows
            sides = [UnitBlock(s, start, stop, e) for s, e in zip(self._sides, ends, strict=True)]
            ends = [side.end for side in sides]
            places = (links.source, links.target)
            found = [s.find(links.row, p) for s, p in zip(sides, places, strict=True)]
            there = (found[0][1] > 0) & (found[1][1] > 0)
            self._left_out += int((~there).sum())
            if there.any():
                one, other = (_selection(first[there], size[there]) for first, size in found)
                yield one, other

    def _links(self) -> Iterator[tuple[int, Links]]:
        """Blocks of links from moving to fixed words, and the number of their first line."""
        lines, start = len(self._sides[0].sizes), 0
        first_word = FirstWord(str(self._file), self._first)
        file = byte_lines(self._file)
        while data := b"".join(islice(file, _LINES)):
            links = parse_pharaoh(data, str(self._file), start + 1, self._first)
            first_word.see(links)
            stop = start + links.rows
            if stop > lines:
                break
            lengths = [np.asarray(side.lengths[start:stop]) for side in self._sides]
            lengths = lengths[::-1] if self._swap else lengths
            try:
                check_range(links, *lengths, str(self._file), start + 1, self._unit, self._first)
            except UserError as error:
                if self._first == 0 and count_from_one(links, *lengths):
                    raise
                hint = "without" if self._swap else "with"
                raise UserError(f"{error}; should it be {hint} `--swap`?") from None
            yield start, links.swapped() if self._swap else links
            start = stop
        more = sum(1 for _ in file)
        if start != lines or data:
            found = start + (links.rows if data else 0) + more
            raise UserError(
                f"{self._file}: must have a line for each of the {lines} lines of the folders, "
                f"got {found}"
            )
        if not self.count:  # once, however often they are read
            first_word.end()


def _selection(first: np.ndarray, sizes: np.ndarray) -> Selection:
    """Vectors that are means of ``sizes`` rows from ``first`` on (both (P,))."""
    if sizes.max() == 1:
        return Selection(first)
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Selection(np.repeat(first, sizes) + inside, sizes)
