"""The contents of a page, the file of results that it is made from, and the page as HTML."""

import base64
import csv
import dataclasses
import datetime
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.results.report import Download, Section, write_report
from fairseq_xling.runs.display import clock

if TYPE_CHECKING:
    import pandas

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
    def frame(self) -> "pandas.DataFrame":
        """Its measurements; ValueError, KeyError or TypeError if they are damaged.

        Raises:
            UserError: for results of an older version, which had no frame.
        """
        from fairseq_xling.results.frame import frame_from_json

        if "frame" not in self.record:
            raise UserError(
                f"{self.path}: results of an older version; remove this file and run the same "
                "command again, which repeats its last step"
            )
        return frame_from_json(self.record["frame"])

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


def write_page(path: Path, result: Result, page: Page) -> None:
    """Write ``path`` atomically, self-contained."""
    made = [("made by", result.command or "not recorded"), ("date", result.date)]
    made += [("machine", result.machine), ("results", str(result.path))]
    made += [("its steps took", result.took)] if result.took else []
    made += list(result.versions.items())
    inputs = [[role, one["path"], one["sha256"][:16]] for role, one in result.inputs.items()]
    sections = [*page.sections, numbers_section(result, page)]
    if settings := _settings(result.record.get("config")):
        sections.append(Section("Settings", header=["option", "value"], rows=settings))
    sections.append(Section("Provenance", header=["what", "value"], rows=made))
    if inputs:
        header = ["input", "file", "SHA-256 (its beginning)"]
        sections.append(Section("Inputs", header=header, rows=inputs))
    if commands := result.record.get("commands"):
        text = "Also in commands.sh in the same folder."
        sections.append(Section("Exact commands", text=text, code="\n\n".join(commands)))
    write_report(path, page.title, page.lead, sections)


def _settings(config: Any) -> list[tuple[str, str]]:
    """Every option that has a value."""
    if not isinstance(config, dict):
        return []
    return [(name, str(value)) for name, value in config.items() if value not in ("", (), [])]


def numbers_section(result: Result, page: Page) -> Section:
    """Links to every table as CSV and to the whole record as JSON."""
    files = [
        download(f"{result.name}.{name}.csv", "text/csv", csv_text(header, rows))
        for name, (header, rows) in page.tables.items()
    ]
    record = json.dumps(result.record, indent=2, sort_keys=True, ensure_ascii=False)
    files.append(download(f"{result.name}.json", "application/json", record + "\n"))
    text = "Unrounded; the files are inside this page."
    return Section("Every number", text=text, downloads=files)


def download(name: str, kind: str, text: str) -> Download:
    """A link that contains its file.

    >>> download("a.csv", "text/csv", "x").link
    'data:text/csv;charset=utf-8;base64,eA=='
    """
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    return Download(name, f"data:{kind};charset=utf-8;base64,{data}")


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV.

    >>> csv_text(["a", "b"], [[1, None]])
    'a,b\\n1,\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def join_results(measure: str, results: Sequence[Result]) -> Result:
    """All records in one, by the name of their file."""
    last = max(results, key=lambda result: result.date)
    origin = {
        "command": "; ".join(result.command for result in results if result.command),
        "date": last.date,
        "machine": last.machine,
        "versions": dict(last.versions),
    }
    records = {result.name: dict(result.record) for result in results}
    return Result(Path(f"{measure}-together.json"), {"results": records, "provenance": origin})
