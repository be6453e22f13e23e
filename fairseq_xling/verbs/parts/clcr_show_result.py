"""`fairseq-xling clcr show`: one sentence pair, its key-points and their order."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Page, Result, caption, sentence
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.verbs.parts.clcr_show_figure import by_direction, draw_maps, draw_words

SOURCE = "CLCR, Figures 2 and 3"


@KINDS.register("clcr-show")
class ClcrShow:
    """Words with p(key-point), and heat maps of the order heads."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == "show"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = list(record["header"]), list(record["rows"])
        notes = caption(result, SOURCE, *map(sentence, record["notes"]))
        words = partial(draw_words, record)
        sections = [Section("Key-points", figure=words, header=header, rows=rows, notes=notes)]
        for maps in by_direction(record):
            title = f"Order: {maps[0]['direction']}"
            sections.append(Section(title, figure=partial(draw_maps, maps), notes=notes))
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=["One sentence pair, its key-points, and the scores of its order."],
            sections=sections,
            tables={"table": (header, rows)},
        )
