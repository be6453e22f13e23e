"""`fairseq-xling ablate size-window`: Liu et al. 2020, section 3.2."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.plots import BarPanel, Bars, draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.studies.mbert.size_window_result import MRR, drop_title
from fairseq_xling.studies.pages.kinds import KINDS
from fairseq_xling.studies.pages.studies import parse_cell

SOURCE = "Liu et al. (2020), 3.2"
_LABELS = {MRR: "word retrieval, MRR"}


@KINDS.register("size-window")
class SizeWindow:
    """Bars of MRR and of tasks: a group for each model and size, a series for each window."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"header", "rows", "config"} <= record.keys() and "windows" in record["config"]

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        names = [f"{row[0]}, {row[1]:,} sentences" for row in rows]
        series: dict[str, list[Bars]] = {}
        for place, name in enumerate(header):
            title, window, size = name.rpartition(", window ")
            if window:
                cells = [parse_cell(row[place]) for row in rows]
                values = [cell and cell[0] for cell in cells]
                spread = [cell and cell[1] for cell in cells]
                series.setdefault(title, []).append(Bars(f"window {size}", values, spread))
        panels = [
            BarPanel(names, bars, _LABELS.get(title, title)) for title, bars in series.items()
        ]
        facts = (f"Languages {config['languages']}.", seeds_in_words(config["seeds"]))
        drops = [
            (title, row, parse_cell(row[header.index(drop_title(title))].replace("+", "")))
            for title in series
            for row in rows
        ]
        return Page(
            title="Size of the text and length of its segments",
            source=SOURCE,
            lead=["Word retrieval of models trained on more or less text, in longer segments."],
            sections=[
                Section(
                    "Word retrieval" if len(panels) == 1 else "Word retrieval and transfer",
                    svg=to_svg(draw_bars(panels)),
                    notes=caption(result, SOURCE, *facts),
                ),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows)},
            measured=[
                Measured(
                    "E11",
                    f"{drop_title(title)} with the shorter window, {row[0]}, {row[1]:,}",
                    drop[0],
                )
                for title, row, drop in drops
                if drop is not None
            ],
        )
