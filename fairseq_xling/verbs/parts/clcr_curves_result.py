"""`fairseq-xling clcr curves`: D by step."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption, sentence
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.verbs.parts.clcr_curves import column, draw_curves

SOURCE = "CLCR, 3.1, Table 1 and Figure 1"


@KINDS.register("clcr-curves")
class ClcrCurves:
    """Curves by step, and the distances at the end."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == "curves"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], list(record["rows"])
        notes = caption(result, SOURCE, *map(sentence, record["notes"]))
        figure = partial(draw_curves, record)
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=["D is the mean distance of a transformed sentence and its translation."],
            sections=[
                Section("Distance by step", figure=figure, notes=notes),
                Section("At the end", header=header, rows=rows),
            ],
            tables={
                "table": (header, rows),
                "curves": (["training", "number", "figure", "step", "value"], list(_long(record))),
            },
            measured=list(_measured(record)),
        )


def _long(record: Mapping[str, Any]) -> Iterator[list[Any]]:
    for number, one in enumerate(record["trainings"], start=1):
        for name, curve in one["curves"].items():
            for step, value in curve:
                yield [one["name"], number, column(name), step, value]


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    for one in record["trainings"]:
        for name, curve in one["curves"].items():
            if name.startswith("distance "):
                yield Measured("C4", f"{column(name)} at the end, {one['name']}", curve[-1][1])
