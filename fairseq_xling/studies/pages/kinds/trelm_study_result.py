"""The studies of TreLM (`fairseq-xling ablate trelm-...`): Tables 2, 3, 5, 7 and 8, Figure 2."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.plots import draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.pages.studies import column_bars, measured_columns, parse_cell

PAPER = "TreLM (Li et al., 2021)"


@KINDS.register("trelm-study")
class TrelmStudyPage:
    """Bars for every figure of the table; a curve if the study has an axis."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"study", "migrations", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        study = _study(record["study"])
        source = f"{PAPER}, {study.help.rpartition('TreLM, ')[2]}" if study else PAPER
        names = [f"{row[0]}: {row[1]}" for row in rows]
        columns = measured_columns(header)
        facts = (seeds_in_words(config["seeds"]),)
        notes = caption(result, source, *facts)
        bars = to_svg(draw_bars(column_bars(names, header, rows, columns)))
        sections = [Section("Every row", svg=bars, notes=notes)]
        if axis := record.get("axis"):
            curve = to_svg(draw(_curves(axis, header, rows, columns)))
            sections.insert(0, Section(f"By {axis['title']}", svg=curve, notes=notes))
        sections.append(Section("Table", header=header, rows=rows, notes=record["notes"]))
        return Page(
            title=record["study"],
            source=source,
            lead=[study.lead] if study else [],
            sections=sections,
            tables={"table": (header, rows), "phases": _phases(record["migrations"])},
            measured=[
                Measured(code, f"{columns[0]}, row {row[0]}", found[0])
                for code in getattr(study, "spec_rows", ())
                for row in rows[:1]
                if (found := parse_cell(row[header.index(columns[0])])) is not None
            ],
        )


def _study(title: str) -> Any:
    """The study of this title; None if this version no longer has it."""
    found = [STUDIES[name] for name in STUDIES if getattr(STUDIES[name], "title", "") == title]
    return found[0] if found else None


def _curves(
    axis: Mapping[str, Any], header: list[str], rows: list[list[Any]], columns: list[str]
) -> list[Panel]:
    sizes = axis["sizes"]
    panels = []
    for name in columns:
        place = header.index(name)
        points = sorted(
            (sizes[row[0]], cell[0])
            for row in rows
            if sizes.get(row[0]) is not None and (cell := parse_cell(row[place])) is not None
        )
        if points:
            x, y = zip(*points, strict=True)
            panels.append(Panel([Line(name, x, y)], xlabel=axis["title"], ylabel=name))
    return panels


def _phases(migrations: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    header = ["row", "target", "seed", "phase", "steps", "language", "bits per word"]
    return header, [
        [code, one["target"], one["seed"], phase["phase"], phase["steps"], lang, value]
        for code, many in migrations.items()
        for one in many
        for phase in one["phases"]
        for lang, value in phase["bpw"].items()
    ]
