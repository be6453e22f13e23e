"""`fairseq-xling clcr report`: the conditions of the definition."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, Table, caption, sentence
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.verbs.parts.clcr_report_context import HEADER as CONTEXTS
from fairseq_xling.verbs.parts.clcr_report_context import context_table
from fairseq_xling.verbs.parts.clcr_report_figure import draw_report

SOURCE = "CLCR, 2.1"


@KINDS.register("clcr-report")
class ClcrReport:
    """Histograms of the distances, and the distance by score."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == "conditions"

    def page(self, result: Result) -> Page:
        record = result.record
        notes = caption(result, SOURCE, *map(sentence, record["notes"]))
        header, rows = record["header"], list(record["rows"])
        figure = partial(draw_report, record)
        sections = [Section("Distances", figure=figure, header=header, rows=rows, notes=notes)]
        tables = {"table": (header, rows), "histogram": _histogram(record)}
        if contexts := record.get("contexts"):
            tables["contexts"] = CONTEXTS, context_table(contexts)
            title, text = "A token in its context", "Mean distance that the vector of a word moves."
            sections.append(Section(title, text, header=CONTEXTS, rows=tables["contexts"][1]))
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[f"Compared: {' and '.join(record['folders'])}."],
            sections=sections,
            tables=tables,
            measured=list(_measured(record)),
        )


def _histogram(record: Mapping[str, Any]) -> Table:
    rows = [
        [name, low, high, near, far]
        for name, one in record["distances"].items()
        for low, high, near, far in zip(
            one["edges"][:-1],
            one["edges"][1:],
            one["translations"]["histogram"],
            one["random"]["histogram"],
            strict=True,
        )
    ]
    return ["distance", "from", "to", "translations", "random pairs"], rows


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    pair = record["pair"]
    for name, one in record["distances"].items():
        what = f"{name}: random pairs farther apart than translations (AUC), {pair}"
        yield Measured("C1", what, one["auc"])
        if one.get("spearman") is not None:
            yield Measured("C1", f"{name}: Spearman of distance and score", one["spearman"])
