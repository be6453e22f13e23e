"""`fairseq-xling clcr keypoints`: how well key-points are classified (CLCR, Table 2)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption, sentence
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "CLCR, 3.2 and Table 2"
_SHARES = ("accuracy", "precision", "recall")


@KINDS.register("clcr-keypoints")
class ClcrKeypoints:
    """Bars of accuracy, precision and recall, a group for each language and threshold."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == "keypoints"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = list(record["header"]), list(record["rows"])
        names = [f"{row[0]}, delta {row[1]}" for row in rows]
        series = [Bars(name, [row[header.index(name)] for row in rows]) for name in _SHARES]
        figure = partial(draw_bars, [BarPanel(names, series, "share of words")])
        notes = caption(result, SOURCE, *map(sentence, record["notes"]))
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=["How accurately words of a sentence are classified as key-points."],
            sections=[Section("Shares", figure=figure, header=header, rows=rows, notes=notes)],
            tables={"table": (header, rows)},
            measured=[
                Measured("C10", f"accuracy of key-points, {name}", value)
                for name, value in zip(names, series[0].values, strict=True)
                if value is not None
            ],
        )
