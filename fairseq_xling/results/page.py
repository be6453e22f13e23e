"""The contents of a page, and the file of results that it is made from."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.results.report import Section
from fairseq_xling.runs.display import clock

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
RESULTS = "results.json"


@dataclasses.dataclass(frozen=True)
class Result:
    """A JSON file written by a run."""

    path: Path
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name: that of its folder, or its own if there are several in the folder."""
        if self.path.name == RESULTS:
            return self.path.resolve().parent.name
        return self.path.stem

    @property
    def command(self) -> str:
        """The command that made it, empty if that is not recorded."""
        return self._origin.get("command") or ""

    @property
    def date(self) -> str:
        """When it was made, ISO 8601; if not recorded, when its file was written."""
        if date := self._origin.get("date"):
            return date
        written = datetime.datetime.fromtimestamp(self.path.stat().st_mtime, datetime.timezone.utc)
        return written.isoformat(timespec="seconds")

    @property
    def machine(self) -> str:
        """Processors and system, as recorded."""
        return self._origin.get("machine") or self.record.get("machine") or ""

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of the packages that it depends on."""
        return self._origin.get("versions") or self.record.get("versions") or {}

    @property
    def took(self) -> str:
        """How long its steps took, one after another; empty if that is not recorded."""
        seconds = self.record.get("seconds_of_steps")
        return clock(seconds) if isinstance(seconds, int | float) else ""

    @property
    def inputs(self) -> Mapping[str, Mapping[str, Any]]:
        """Files that it was made from, by role."""
        return self._origin.get("inputs") or {}

    @property
    def _origin(self) -> Mapping[str, Any]:
        return self.record.get("provenance") or {}


@dataclasses.dataclass(frozen=True)
class Measured:
    """A figure for the index.

    Attributes:
        row: its row of the specification.
        what: what was measured, in words, with its unit.
        value: the number.
    """

    row: str
    what: str
    value: float


@dataclasses.dataclass(frozen=True)
class Page:
    """The page of one file of results.

    Attributes:
        title: heading.
        source: paper and figure, table or section that the page redraws.
        lead: opening sentences.
        sections: figures and tables.
        tables: every number, unrounded, by the name of its CSV file.
        measured: its figures for the index.
    """

    title: str
    source: str
    lead: Sequence[str]
    sections: Sequence[Section]
    tables: Mapping[str, Table]
    measured: Sequence[Measured] = ()


def seeds_in_words(seeds: str | Sequence[int], drawn: str = "whiskers") -> str:
    """Seeds as a caption names them, and how a figure shows that there are several.

    >>> seeds_in_words("3"), seeds_in_words([1, 2])
    ('Seed 3.', 'Seeds 1, 2; whiskers are standard deviations over them.')
    >>> seeds_in_words("1,2", "dots"), seeds_in_words("1,2", "")
    ('Seeds 1, 2, a dot each.', 'Seeds 1, 2; means over them.')

    Args:
        drawn: ``whiskers`` or ``bands`` of a deviation, ``dots`` for each seed, or nothing.
    """
    found = seeds.split(",") if isinstance(seeds, str) else list(map(str, seeds))
    if len(found) == 1:
        return f"Seed {found[0]}."
    if drawn == "dots":
        return f"Seeds {', '.join(found)}, a dot each."
    means = f"{drawn} are standard deviations" if drawn else "means"
    return f"Seeds {', '.join(found)}; {means} over them."


def sentence(text: str) -> str:
    """``text`` with an initial capital and a full stop.

    >>> sentence("a tie counts as wrong")
    'A tie counts as wrong.'
    """
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def caption(result: Result, source: str, *facts: str) -> list[str]:
    """The lines below a figure: what it redraws, units and seeds (``facts``), and the command."""
    made = f"Made by: {result.command}" if result.command else "The command was not recorded."
    return [" ".join([f"After {source}.", *facts]), made]
