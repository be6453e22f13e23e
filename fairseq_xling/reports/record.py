"""A record: what was measured, and how it is to be shown, in one JSON file.

Each verb that measures and each study writes one: tidy rows, and sections of a page, of which each
declares a table and a chart by the columns that it shows. Nothing is shown that is not in the rows,
so one page (`fairseq_xling.reports.page`) is that of every record, whatever made it.
"""

import dataclasses
import datetime
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.arguments import check_type
from fairseq_xling.core.errors import MALFORMED, UserError, shown
from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.core.provenance import provenance
from fairseq_xling.reports.pivot import Contrast, Table
from fairseq_xling.reports.rows import COLUMNS, Row, from_json, to_json

if TYPE_CHECKING:
    import pandas

FORMAT = 2
RESULTS = "results.json"
KINDS = ("curve", "dots", "bars", "heat", "scatter")


@dataclasses.dataclass(frozen=True)
class Chart:
    """A figure of rows, declared by columns; words may have columns in braces, see `pivot.Table`.

    A value is that of the column ``value``. Over seeds a curve shows a mean with a band and a bar a
    mean with a whisker of a standard deviation, dots show each seed and the mean.

    Attributes:
        kind: one of `KINDS`.
        where: which rows, see `rows.select`.
        row: the lines of a curve, the lines of dots and bars, the rows of a heat map, the groups of
            a scatter plot.
        x: of a curve and a scatter plot; the columns of a heat map.
        series: the bars of a line.
        panel: each of whose values has its own axes.
        title: of a panel, said of its first row.
        xlabel, ylabel: of the axes, likewise; of a heat map, what is in its rows and columns.
        unit: of the colours of a heat map.
        label: of the points of a scatter plot.
        chance: what a dotted line at the first ``chance`` of a row is called; ``{chance}`` is its
            height.
        marks: by panel the place of a vertical line, and its label.
        log: ``x``, ``y`` or ``xy``, the logarithmic axes.
        rows, columns: their order, if it is not that of the rows.
        scale: the values of a heat map's darkest and lightest colour, or columns that have them.
    """

    kind: str
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    row: str = "row"
    x: str = "layer"
    series: str = ""
    panel: str = "measure"
    title: str = ""
    xlabel: str = ""
    ylabel: str = "{measure}"
    unit: str = ""
    label: str = "target"
    chance: str = ""
    marks: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    log: str = ""
    rows: Sequence[Any] = ()
    columns: Sequence[Any] = ()
    scale: Sequence[float | str] = (0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of a page, with any of: a paragraph, a figure, a table, notes, code.

    Attributes:
        name: of the files in which a run leaves its figure and its table.
        source: what its figure redraws, if that is not what the record does.
    """

    title: str
    table: Table | None = None
    chart: Chart | None = None
    notes: Sequence[str] = ()
    text: str = ""
    code: str = ""
    name: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Record:
    """What was measured, and how it is shown.

    Attributes:
        title: heading of the page.
        rows: what was measured, see `fairseq_xling.reports.rows`.
        sections: of the page.
        source: paper and figure, table or section that is redrawn.
        lead: opening sentences.
        facts: what else a reader may ask, such as how many words there were; ``main curve`` is
            the measure that is drawn where records share a page.
        config: the options of a study.
        commands: of its steps; seconds: that they took.
        provenance: command, date, machine, versions, inputs.
        path: the file that it was read from.
    """

    title: str
    rows: Sequence[Row]
    sections: Sequence[Section] = ()
    source: str = ""
    lead: Sequence[str] = ()
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    commands: Sequence[str] = ()
    seconds: float | None = None
    provenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    path: Path | None = None

    @property
    def frame(self) -> "pandas.DataFrame":
        """The rows as a frame of pandas; what a row does not name is None."""
        import pandas

        names = dict.fromkeys([*COLUMNS, *(name for row in self.rows for name in row)])
        values = [[row.get(name) for name in names] for row in self.rows]
        return pandas.DataFrame(values, None, names, object)

    @property
    def name(self) -> str:
        """That of its folder, or of its file if there are several in the folder."""
        path = self.path or Path(RESULTS)
        return path.resolve().parent.name if path.name == RESULTS else path.stem

    @property
    def command(self) -> str:
        """The command that made it, empty if that is not recorded."""
        return self.provenance.get("command") or ""

    @property
    def date(self) -> str:
        """When it was made, ISO 8601; if that is not recorded, when its file was written."""
        if date := self.provenance.get("date"):
            return date
        if self.path is None:
            return ""
        written = datetime.datetime.fromtimestamp(self.path.stat().st_mtime, datetime.timezone.utc)
        return written.isoformat(timespec="seconds")

    @property
    def seeds(self) -> list[Any]:
        """Those of its rows."""
        return sorted({row["seed"] for row in self.rows if row.get("seed") is not None}, key=str)


def made(record: Record, inputs: Mapping[str, str | Path]) -> Record:
    """``record`` with the provenance of this command from ``inputs``, files by role."""
    return dataclasses.replace(record, provenance=provenance(inputs))


def write_record(path: str | Path, record: Record) -> None:
    """Write the JSON of a record atomically."""
    with atomic_write(path, "w") as file:
        file.write(dumped(record))


def to_record(record: Record) -> dict[str, Any]:
    """The JSON of a record; what is as by default is left out."""
    found = _plain(dataclasses.replace(record, rows=(), path=None))
    return {"format": FORMAT, **found, "rows": to_json(record.rows)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        defaults: dict[str, Any] = {
            one.name: one.default if one.default_factory is dataclasses.MISSING else {}
            for one in dataclasses.fields(value)
        }
        found = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return {k: _plain(v) for k, v in found.items() if v != defaults[k] and v != ()}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value


def is_record(value: Any) -> bool:
    """Whether a JSON value is a record."""
    return isinstance(value, dict) and "format" in value and "rows" in value and "title" in value


def read_record(path: str | Path) -> Record:
    """The record in a JSON file, or in ``results.json`` of a folder.

    Raises:
        UserError: in one line, with the file and the key, if it is none or damaged.
    """
    path = Path(path)
    path = path / RESULTS if path.is_dir() else path
    value = read_json(path)
    if not is_record(value):
        older = isinstance(value, dict) and "provenance" in value
        raise UserError(
            f"{path}: "
            + (
                "results of an older version; run the same command again"
                if older
                else "is no record of `fairseq-xling` (no `format`, `title` and `rows`)"
            )
        )
    return dataclasses.replace(from_record(path, value), path=path)


def find_records(run: str | Path) -> list[Record]:
    """The records of a run: a JSON file, or a folder with ``results.json`` or with such files.

    Raises:
        UserError: if there are none, or one is damaged.
    """
    run = Path(run)
    if not run.is_dir() or (run / RESULTS).is_file():
        return [read_record(run)]
    found = [read_record(path) for path in sorted(run.glob("*.json")) if is_record(read_json(path))]
    if not found:
        raise UserError(f"{run}: contains no record (no {RESULTS}, and no other JSON file of one)")
    return found


def from_record(path: str | Path, value: Mapping[str, Any]) -> Record:
    """The way back from `to_record`; errors as of `read_record`."""
    if value["format"] != FORMAT:
        raise UserError(
            f"{path}: `format` must be {FORMAT}, got {shown(value['format'])}; run the same command"
            " again"
        )
    for where, one in _leaves(value, ""):
        if isinstance(one, float) and not math.isfinite(one):
            raise UserError(f"{path}: `{where}` must be a finite number, got {one}")
        if isinstance(one, str) and any("\ud800" <= letter <= "\udfff" for letter in one):
            raise UserError(f"{path}: `{where}` contains half a character, got {shown(one)}")
    try:
        rows = from_json(value["rows"])
    except MALFORMED as error:
        raise UserError(f"{path}: `rows` are damaged ({error})") from None
    known = {name: one for name, one in value.items() if name not in ("format", "rows")}
    origin = check_type(path, known.get("provenance", {}), "`provenance`", dict)
    _check_provenance(str(path), origin)
    return _build(str(path), "", Record, {**known, "rows": rows})


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield (f"{where}.{shown(key)}".lstrip("."), key)
            yield from _leaves(one, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(one, f"{where}[{place}]")
    else:
        yield where, value


_TEXTS, _HEADINGS = "a list of texts", "an object of texts"
_DIGITS, _ANY = "a number of digits from 0 to 12, or some by heading", "anything"
_MOST_DIGITS = 12
# What a field must be: a type, one of these words, a class that has fields itself, or a list of it.
_FIELDS: dict[type, dict[str, Any]] = {
    Record: {
        **dict.fromkeys(("title", "source"), str),
        **dict.fromkeys(("lead", "commands"), _TEXTS),
        **dict.fromkeys(("facts", "config", "provenance"), dict),
        **{"rows": list, "sections": [Section], "seconds": float},
    },
    Section: {
        **dict.fromkeys(("title", "text", "code", "name", "source"), str),
        **{"notes": _TEXTS, "table": Table, "chart": Chart},
    },
    Table: {
        **{"rows": _HEADINGS, "column": str, "where": dict, "order": _TEXTS, "digits": _DIGITS},
        **{"signed": _TEXTS, "after": _HEADINGS, "contrast": Contrast, "mean": bool},
    },
    Contrast: {"to": _ANY, "column": str, "measures": _TEXTS},
    Chart: {
        **{one.name: str for one in dataclasses.fields(Chart) if one.type is str},
        **{"where": dict, "marks": dict, "rows": list, "columns": list, "scale": list},
    },
}
_SAID: dict[Any, str] = {
    **{str: "a text", dict: "an object", list: "a list", bool: "true or false"},
    **{float: "a number"},
}


def _build(path: str, where: str, kind: type, value: Any) -> Any:
    """``value`` as one of the classes of this module."""
    if not isinstance(value, dict):
        raise UserError(f"{path}: `{where}` must be an object, got {shown(value)}")
    built = {}
    for name, one in value.items():
        wanted, place = _FIELDS[kind].get(name), f"{where}.{name}".lstrip(".")
        if wanted is None:
            continue  # of a later version, or of whoever wrote it
        if isinstance(wanted, list):
            check_type(path, one, f"`{place}`", list)
            each = enumerate(one)
            built[name] = tuple(_build(path, f"{place}[{n}]", wanted[0], part) for n, part in each)
        elif isinstance(wanted, type) and wanted in _FIELDS:
            built[name] = _build(path, place, wanted, one)
        elif not _fits(one, wanted):
            raise UserError(
                f"{path}: `{place}` must be {_SAID.get(wanted, wanted)}, got {shown(one)}"
            )
        else:
            built[name] = one
    for field in dataclasses.fields(kind):
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and field.name not in built:
            raise UserError(f"{path}: `{where or 'the record'}` has no `{field.name}`")
    if kind is Chart and built["kind"] not in KINDS:
        kinds = ", ".join(KINDS)
        raise UserError(f"{path}: `{where}.kind` must be one of {kinds}, got {built['kind']!r}")
    return kind(**built)


def _check_provenance(path: str, origin: Mapping[str, Any]) -> None:
    for name in ("command", "date", "machine"):
        check_type(path, origin.get(name, ""), f"`provenance.{name}`", str)
    for name in ("versions", "inputs"):
        check_type(path, origin.get(name, {}), f"`provenance.{name}`", dict)
    for name, one in origin.get("versions", {}).items():
        check_type(path, one, f"`provenance.versions.{name}`", str)
    for role, one in origin.get("inputs", {}).items():
        check_type(path, one, f"`provenance.inputs.{role}`", dict)
        for name in ("path", "sha256"):
            check_type(path, one.get(name), f"`provenance.inputs.{role}.{name}`", str)


def _fits(value: Any, wanted: Any) -> bool:
    if wanted == _ANY:
        return True
    if wanted == _TEXTS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if wanted == _HEADINGS:
        return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    if wanted == _DIGITS:
        every = value.values() if isinstance(value, dict) else [value]
        return all(one is None or one in range(_MOST_DIGITS + 1) for one in every)
    if wanted is float:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return isinstance(value, wanted)


def joined(records: Mapping[str, Record]) -> dict[str, Record]:
    """Records by name, with those of one measure, whose sections show the same, as one: a line or
    a curve for each, told apart by the name in a column ``results``. Studies stay alone."""
    groups: dict[Any, list[str]] = {}
    for name, record in records.items():
        shape = [
            (one.table and one.table.rows, one.chart and one.chart.kind) for one in record.sections
        ]
        study = record.rows[0].get("study") if record.rows else None
        alone = name if record.config or not study else ""
        groups.setdefault((study, str(shape), alone), []).append(name)
    return {
        names[0] if len(names) == 1 else f"{study}-together": records[names[0]]
        if len(names) == 1
        else _together(str(study), {name: records[name] for name in names})
        for (study, _, _), names in groups.items()
    }


def _together(study: str, records: Mapping[str, Record]) -> Record:
    first, *_ = records.values()
    main = {one.facts.get("main curve") for one in records.values()}
    sections = []
    for section in first.sections:
        table, chart = section.table, section.chart
        if table is not None:
            rows = {"results": "results", **table.rows}
            table = dataclasses.replace(table, rows=rows, mean=False)
        if chart is not None and None not in main and len(main) == 1:
            alone: dict[str, Any] = {
                "row": "results",
                "panel": "measure",
                "where": {"measure": [*main]},
                "rows": (),
            }
            chart = dataclasses.replace(chart, **alone)
        elif chart is not None:
            row = chart.row if "{" in chart.row else f"{{{chart.row}}}"
            chart = dataclasses.replace(chart, row=f"{{results}}: {row}", rows=())
        sections.append(dataclasses.replace(section, table=table, chart=chart, notes=()))
    commands = "; ".join(one.command for one in records.values() if one.command)
    return Record(
        f"{study}: {len(records)} results together",
        [{"results": name, **row} for name, one in records.items() for row in one.rows],
        tuple(sections),
        source=first.source,
        lead=[f"{name}: {one.title}." for name, one in records.items()],
        provenance={**first.provenance, "command": commands},
        path=Path(f"{study}-together.json"),
    )


def plain_chart(rows: Sequence[Row]) -> Chart:
    """The figure of rows of which nothing else is said: curves where there are several layers,
    dots where there are several seeds, else bars."""
    if len({row.get("layer") for row in rows}) > 1:
        return Chart("curve", row="{row} {target}", xlabel="layer", chance="chance")
    lines = "target" if any("target" in row for row in rows) else "row"
    series = "row" if lines == "target" and any("row" in row for row in rows) else ""
    kind = "dots" if len({row.get("seed") for row in rows}) > 1 else "bars"
    return Chart(kind, row=lines, series=series, chance="chance")


def dumped(record: Record) -> str:
    """The JSON of a record as text; the order of headings is that of the table."""
    return json.dumps(to_record(record), indent=2, ensure_ascii=False) + "\n"
