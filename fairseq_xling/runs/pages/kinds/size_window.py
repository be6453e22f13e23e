"""`fairseq-xling ablate size-window`: Liu et al. 2020, section 3.2 (SPEC E11)."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.pages.kinds import KINDS
from fairseq_xling.runs.pages.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.pages.plots import BarPanel, Bars, draw_bars
from fairseq_xling.runs.pages.studies import parse_cell
from fairseq_xling.runs.report import Section

SOURCE = "Liu et al. (2020), 3.2"
_DROP = "drop (%)"


@KINDS.register("size-window")
class SizeWindow:
    """Bars of MRR: a group for each model and size, a series for each window."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"header", "rows", "config"} <= record.keys() and "windows" in record["config"]

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        names = [f"{row[0]}, {row[1]:,} sentences" for row in rows]
        series = []
        for place, name in enumerate(header):
            if name.startswith("MRR, "):
                cells = [parse_cell(row[place]) for row in rows]
                values = [cell and cell[0] for cell in cells]
                spread = [cell and cell[1] for cell in cells]
                series.append(Bars(name.removeprefix("MRR, "), values, spread))
        facts = (f"Languages {config['languages']}.", seeds_in_words(config["seeds"]))
        place = header.index(_DROP)
        drops = ((row, parse_cell(row[place].replace("+", ""))) for row in rows)
        return Page(
            title="How much text, and how much of it at a time",
            source=SOURCE,
            lead=["Word retrieval of models trained on more or less text, in longer segments."],
            sections=[
                Section(
                    "Word retrieval",
                    svg=to_svg(draw_bars([BarPanel(names, series, "word retrieval, MRR")])),
                    notes=caption(result, SOURCE, *facts),
                ),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows)},
            measured=[
                Measured("E11", f"drop (%) with the shorter window, {row[0]}, {row[1]:,}", drop[0])
                for row, drop in drops
                if drop is not None
            ],
        )
