"""What tests read of the records that verbs and studies write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import RESULTS, Record, read_record, write_record
from fairseq_xling.reports.rows import distinct, select
from fairseq_xling.reports.tables import cell


def rows(path: Path, **where: Any) -> list[Any]:
    """The rows of a record with these values."""
    return select(read_record(path).rows, where)


def values(path: Path, **where: Any) -> list[Any]:
    """Their values."""
    return [row["value"] for row in rows(path, **where)]


def value(path: Path, **where: Any) -> Any:
    """The value of the one row with these values."""
    (found,) = values(path, **where)
    return found


def measured(path: Path, **where: Any) -> dict[str, Any]:
    """The value of each measure."""
    return {row["measure"]: row["value"] for row in rows(path, **where)}


def by_layer(path: Path) -> dict[str, Any]:
    """What `eval bli` and others of two folders measured, curve by curve."""
    record = read_record(path)
    layers = sorted({row["layer"] for row in record.rows})
    curves = {
        name: values(path, measure=name)
        for name in distinct(select(record.rows, {"layer of Y": None}), "measure")
    }
    lines = [values(path, layer=layer) for layer in layers]
    chance = record.rows[0].get("chance")
    return {
        **{"layers": layers, "curves": curves, "chance": chance, "title": record.title},
        **{"matrix": lines, "details": record.facts, "notes": list(record.sections[0].notes)},
        **{"headline": record.facts.get("main curve"), "provenance": record.provenance},
        "means": {name: sum(found) / len(found) for name, found in curves.items()},
    }


def table(record: Record, name: str = "table") -> tuple[list[str], list[list[str]]]:
    """Header and lines of the table with this name, as displayed."""
    (part,) = (part for part in parts(record) if part.section.name == name and part.shown[0])
    header, lines = part.shown
    return header, [list(map(cell, line)) for line in lines]


def write_transfer(folder: Path, metric: str, *tests: Mapping[str, float]) -> Path:
    """The folder of an `eval transfer` of which the figures of each seed are known by language."""
    about = {"part": "test", "shifted": False, "measure": metric}
    lines = [
        {**about, "seed": seed, "task": lang, "target": lang, "value": value}
        for seed, figures in enumerate(tests, start=1)
        for lang, value in figures.items()
    ]
    folder.mkdir(exist_ok=True)
    write_record(folder / RESULTS, Record("Transfer", lines, facts={"metric": metric}))
    return folder
