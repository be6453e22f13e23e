"""The page of any record, as HTML in one file; and its tables and figures as files."""

import base64
import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.progress import clock
from fairseq_xling.reports.pivot import OverSeeds, Shown, pivot, plain_table
from fairseq_xling.reports.record import (
    RESULTS,
    Record,
    Section,
    dumped,
    plain_chart,
    read_record,
    write_record,
)
from fairseq_xling.reports.rows import columns_of, select
from fairseq_xling.reports.tables import cell, csv_text, write_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "report.html"
NARROW = 3.6  # inches, of a figure on a telephone


@dataclasses.dataclass(frozen=True)
class Part:
    """A section of a page with what it shows."""

    record: Record
    section: Section

    @cached_property
    def shown(self) -> Shown:
        """Header and lines of its table, empty if it has none."""
        if self.section.table is None:
            return [], []
        with damage(self.record, f"table of section {self.section.title!r}"):
            return pivot(self.record.rows, self.section.table)

    def figure(self) -> "Figure":
        """Its figure."""
        from fairseq_xling.reports.charts import draw_chart

        if self.section.chart is None:
            raise ValueError(f"section {self.section.title!r} has no chart")
        with damage(self.record, f"chart of section {self.section.title!r}"):
            return draw_chart(self.section.chart, self.record.rows)

    @cached_property
    def svg(self) -> Sequence[str]:
        """The figure as ``<svg>`` elements: as drawn, and, if that is wide, for a narrow screen."""
        if self.section.chart is None:
            return ()
        from fairseq_xling.reports.figure_file import svg_element

        wide, width = svg_element(self.figure)
        if width <= 1.5 * NARROW:
            return (wide,)
        return wide, svg_element(self.figure, NARROW)[0]

    @property
    def words(self) -> list[bool]:
        """Which columns are text, and so left-aligned."""
        header, rows = self.shown
        return [any(isinstance(row[i], str) for row in rows) for i in range(len(header))]

    @property
    def cells(self) -> list[list[str]]:
        """The lines as displayed; a narrow column breaks before a deviation, not within it."""
        close = "±\N{NO-BREAK SPACE}"
        with damage(self.record, f"table of section {self.section.title!r}"):
            return [[cell(one).replace("± ", close) for one in row] for row in self.shown[1]]

    @property
    def notes(self) -> list[str]:
        """Below a figure also what it redraws, its seeds and the command; below all, its own."""
        record, own = self.record, [sentence(note) for note in self.section.notes]
        if self.section.chart is None:
            return own
        source = self.section.source or record.source
        kind, seeds = self.section.chart.kind, _seeds(record, self.section)
        said = [sentence(f"From {source}") if source else "", seeds_in_words(seeds, kind)]
        return [*filter(None, [" ".join(filter(None, said))]), *own, _made_by(record)]


@contextlib.contextmanager
def damage(record: Record, what: str) -> Iterator[None]:
    """What is raised inside says which record, and which part of it, is damaged."""
    try:
        yield
    except (UserError, *MALFORMED) as error:
        raise UserError(f"{record.path or record.title}: {what}: {error}") from None


def parts(record: Record) -> list[Part]:
    """The sections of a record; without any, one of all rows."""
    plain = Section("Results", plain_table(record.rows), plain_chart(record.rows))
    sections = record.sections or [plain]
    return [Part(record, section) for section in sections]


def seeds_in_words(seeds: Sequence[Any], kind: str) -> str:
    """Seeds as a caption names them, and how a kind of chart shows that there are several.

    >>> seeds_in_words([3], "dots"), seeds_in_words([1, 2], "bars")
    ('Seed 3.', 'Seeds 1, 2; whiskers are standard deviations over them.')
    """
    named = ", ".join(map(str, seeds))
    if len(seeds) < 2:
        return f"Seed {named}." if seeds else ""
    drawn = {
        "curve": "bands are standard deviations over them",
        "bars": "whiskers are standard deviations over them",
        "dots": "a dot each",
    }
    return f"Seeds {named}; {drawn.get(kind, 'means over them')}."


def _seeds(record: Record, section: Section) -> list[Any]:
    """Those of a figure that does not name them itself."""
    chart = section.chart
    if chart and "{seed}" in chart.row + chart.series + chart.panel + chart.x:
        return []
    rows = select(record.rows, chart.where) if chart else record.rows
    return dataclasses.replace(record, rows=rows).seeds


def sentence(text: str) -> str:
    """``text`` with an initial capital, unless it begins with the name of a file, and a full stop.

    >>> sentence("a tie counts as wrong"), sentence("test.de.txt: 3 words")
    ('A tie counts as wrong.', 'test.de.txt: 3 words.')
    """
    if "." in text.partition(" ")[0].rstrip(".:"):
        return f"{text.rstrip('.')}."
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _made_by(record: Record) -> str:
    return f"Made by: {record.command}" if record.command else "The command was not recorded."


# ---- as files


def write_run(run: Path, record: Record) -> None:
    """Write ``results.json`` into ``run``, and what is made of it, each atomically.

    These are ``report.html``; for each section with a ``name`` its figure (``NAME.svg``) and its
    table with notes (``NAME.md``); and every number as ``table.csv``.
    """
    from fairseq_xling.reports.figure_file import svg_file

    write_record(run / RESULTS, record)
    record = read_record(run)
    made = parts(record)
    for part in made:
        name = part.section.name
        if name and part.section.chart:
            with atomic_write(run / f"{name}.svg") as file:
                file.write(svg_file(part.svg[0]))
        if name and part.section.table:
            where = record.provenance.get("machine")
            notes = [*part.section.notes, *([f"{where}."] if where else [])]
            write_markdown(run / f"{name}.md", *part.shown, notes)
    with atomic_write(run / "table.csv", "w") as file:
        file.write(csv_text(*every_number(record)))
    write_page(run / PAGE, record, made)


def every_number(record: Record) -> Shown:
    """The table of a record's first section, unrounded, if each cell is one value; else its rows.

    The rows leave out what is the same in all of them and says nothing of a value.
    """
    for part in parts(record)[:1]:
        header, body = part.shown
        averaged = any(
            isinstance(one, OverSeeds) and len(one.values) > 1 for r in body for one in r
        )
        if header and not averaged and not record.seeds:
            return header, [
                [one.values[0] if isinstance(one, OverSeeds) else one for one in row]
                for row in body
            ]
    names = [name for name in columns_of(record.rows) if name not in ("paper", "study")]
    return names, [[row.get(name) for name in names] for row in record.rows]


def write_index(path: Path, records: Mapping[str, Record]) -> None:
    """Write a list of the pages ``NAME.html`` of records in the folder of ``path``, atomically."""
    links = [
        (f"{name}.html", one.title, one.date[:10], one.source) for name, one in records.items()
    ]
    _write(path, title="Results", lead=[], links=links)


def _write(path: Path, **values: Any) -> None:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    empty: dict[str, Any] = dict.fromkeys(("parts", "downloads", "pairs", "commands", "links"), ())
    text = environment.get_template("page.html.jinja").render({**empty, **values})
    with atomic_write(path, "w") as file:
        file.write(text)


def write_page(path: Path, record: Record, made: Sequence[Part] | None = None) -> None:
    """Write the page of a record, self-contained, without network access, atomically.

    Args:
        made: its `parts`, if their tables and figures are there already.
    """
    facts = [[name, fact(value)] for name, value in record.facts.items()]
    settings = [[n, str(v)] for n, v in record.config.items() if v not in ("", (), [], None)]
    origin = record.provenance
    of = [["made by", record.command or "not recorded"], ["date", record.date]]
    of += [["machine", origin.get("machine", "")], ["results", str(record.path or "")]]
    of += [["its steps took", clock(record.seconds)]] if record.seconds else []
    of += [[name, version] for name, version in origin.get("versions", {}).items()]
    inputs = [
        [role, one["path"], one["sha256"][:16]] for role, one in origin.get("inputs", {}).items()
    ]
    _write(
        path,
        title=record.title,
        lead=record.lead,
        parts=parts(record) if made is None else made,
        downloads=list(_downloads(record)),
        pairs=[("About", facts), ("Settings", settings), ("Provenance", of), ("Inputs", inputs)],
        commands=record.commands,
    )


def fact(value: Any) -> str:
    """A fact as displayed.

    >>> fact({"used": 1200, "all": 1500})
    'used: 1,200, all: 1,500'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {fact(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(fact, value))
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole else str(value)


def _downloads(record: Record) -> Iterator[tuple[str, str]]:
    """Every number of a page as files inside it: their names and links."""
    shown = every_number(record)
    files = {f"{record.name}.csv": csv_text(*shown)}
    names = columns_of(record.rows)
    rows = [[row.get(name) for name in names] for row in record.rows]
    if (names, rows) != shown:
        files[f"{record.name}.rows.csv"] = csv_text(names, rows)
    files[f"{record.name}.json"] = dumped(record)
    for name, text in files.items():
        kind = "application/json" if name.endswith(".json") else "text/csv"
        data = base64.b64encode(text.encode("utf-8")).decode("ascii")
        yield name, f"data:{kind};charset=utf-8;base64,{data}"


# ---- for other programs


def scores(record: Record) -> Iterator[dict[str, Any]]:
    """An object for each value of a record, with the same keys whatever was measured.

    ``model`` is the row, ``language`` the target or the source, ``details`` the other columns.
    """
    origin = record.provenance
    about = {
        **{"results": str(record.path or ""), "command": record.command, "date": record.date},
        **{"machine": origin.get("machine", ""), "versions": origin.get("versions", {})},
        "inputs": {role: one["sha256"] for role, one in origin.get("inputs", {}).items()},
    }
    own = ("row", "seed", "task", "target", "source", "measure", "value")
    for row in record.rows:
        if not isinstance(row.get("value"), int | float):
            continue
        details = {name: value for name, value in row.items() if name not in own}
        if "target" in row and "source" in row:
            details["source"] = row["source"]
        yield {
            **{"run": record.name, "title": record.title, "model": row.get("row", record.name)},
            **{name: row.get(name) for name in ("seed", "task")},
            **{"language": row.get("target", row.get("source")), "metric": row.get("measure")},
            **{"value": row["value"], "details": details, "provenance": about},
        }


def write_lines(path: str | Path, records: Sequence[Record]) -> int:
    """Write the scores of ``records`` as lines of JSON, atomically; returns how many there are."""
    count = 0
    with atomic_write(path, "w") as file:
        for record in records:
            for one in scores(record):
                file.write(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n")
                count += 1
    return count
