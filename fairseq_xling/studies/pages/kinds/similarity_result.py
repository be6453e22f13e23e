"""`fairseq-xling ablate similarity`: Conneau et al. 2020, section 5 and Figure 7."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.mbert.similarity_figure import draw_curves
from fairseq_xling.studies.mbert.similarity_result import LEAD, TITLE, by_layer

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"


@KINDS.register("similarity")
class SimilarityPage:
    """Curves by layer, a figure for each pair, and the table of their means."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"study", "lines", "pearson", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, lines = record["header"], record["lines"]
        rows = [list(row) for row in record["rows"]]
        seeds = seeds_in_words(config["seeds"]).replace("whiskers", "bands")
        notes = caption(result, SOURCE, seeds)
        pairs = dict.fromkeys(line["pair"] for line in lines)
        return Page(
            title=TITLE,
            source=SOURCE,
            lead=[LEAD],
            sections=[
                *(
                    Section(f"By layer, {pair}", svg=to_svg(draw_curves(lines, pair)), notes=notes)
                    for pair in pairs
                ),
                Section("Means over layers", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows), "layers": by_layer(lines)},
            measured=[
                Measured("S9", f"Pearson of CKA and retrieval, {one['row']}, {one['pair']}", mean)
                for one in record["pearson"]
                if one["values"]
                for mean in [sum(one["values"]) / len(one["values"])]
            ],
        )
