"""`fairseq-xling ablate mapped-layers`: Conneau et al. 2020, section 5.1.2."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.mbert.mapped_layers_result import LEAD, TITLE, axes_of
from fairseq_xling.studies.mbert.similarity_figure import draw_curves
from fairseq_xling.studies.mbert.similarity_result import by_layer

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5.1.2 and Appendix A"


@KINDS.register("mapped-layers")
class MappedLayersPage:
    """Curves by layer, a panel for each task, a figure for each pair; then the table."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("study") == "mapped-layers" and "lines" in record

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, lines = record["header"], record["lines"]
        rows = [list(row) for row in record["rows"]]
        seeds = seeds_in_words(config["seeds"]).replace("whiskers", "bands")
        notes = caption(result, SOURCE, seeds)
        pairs, axes = dict.fromkeys(line["pair"] for line in lines), axes_of(lines)
        return Page(
            title=TITLE,
            source=SOURCE,
            lead=[LEAD],
            sections=[
                *(
                    Section(
                        f"By layer, {pair}",
                        svg=to_svg(draw_curves(lines, pair, axes)),
                        notes=notes,
                    )
                    for pair in pairs
                ),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows), "layers": by_layer(lines)},
            measured=[
                Measured(
                    "S6",
                    f"{line['measure']} (%), mean over layers, {line['title']}, {line['pair']}",
                    sum(map(sum, line["values"])) / sum(map(len, line["values"])),
                )
                for line in lines
            ],
        )
