"""`fairseq-xling clcr order`: order BLEU of each head and search."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption, sentence
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "CLCR, 3.3 and Table 3"
_BLEU = "BLEU-"


@KINDS.register("clcr-order")
class ClcrOrder:
    """Bars of the precision of n-grams, a group for each head and search."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == "order"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = list(record["header"]), list(record["rows"])
        names = [f"{row[0]} {row[1]}".strip() for row in rows]
        columns = [name for name in header if name.startswith(_BLEU)]
        series = [Bars(name, [row[header.index(name)] for row in rows]) for name in columns]
        figure = partial(draw_bars, [BarPanel(names, series, "precision of n-grams (share)")])
        notes = caption(result, SOURCE, *map(sentence, record["notes"]))
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[
                "Key-points are put into the order of the second language, and compared with the "
                "gold order."
            ],
            sections=[Section("Order BLEU", figure=figure, header=header, rows=rows, notes=notes)],
            tables={"table": (header, rows)},
            measured=[
                Measured("C13", f"order {columns[0]} of {record['pair']}, {name}", value)
                for name, value in zip(names, series[0].values, strict=True)
                if value is not None
            ],
        )
