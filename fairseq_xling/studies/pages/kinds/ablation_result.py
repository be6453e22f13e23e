"""`fairseq-xling ablate emerging-structure`: Conneau et al. 2020, Table 1."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.plots import draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.pages.rows import spec_rows
from fairseq_xling.studies.pages.studies import column_bars, measured_columns, parse_cell

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"
_OLDER = "Of an older version: A5 has the union vocabulary, A9 and A10 the joint one."


def older_note(record: Mapping[str, Any]) -> list[str]:
    """A line about a record of a version that gave some settings another vocabulary."""
    changed = {"A5", "A9", "A10"} & {row[0] for row in record["rows"]}
    return [_OLDER] if changed and "BPE" not in record["header"] else []


@KINDS.register("ablation")
class Ablation:
    """Bars for every figure of the table, settings down."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"header", "rows", "config"} <= record.keys() and "other_text" in record["config"]

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        names = [f"{row[0]} {row[1]}" for row in rows]
        columns = measured_columns(header)
        facts = (
            f"{config['arch']}, {config['layers']} layers, {describe_steps(config)}.",
            seeds_in_words(config["seeds"]),
            *older_note(record),
        )
        figure = draw_bars(column_bars(names, header, rows, columns))
        return Page(
            title="Emerging cross-lingual structure",
            source=SOURCE,
            lead=["What a masked language model of two languages needs in order to align them."],
            sections=[
                Section("Every setting", svg=to_svg(figure), notes=caption(result, SOURCE, *facts)),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows)},
            measured=[
                Measured(row[0], name, found[0])
                for row in rows
                if row[0] in spec_rows()
                for name in columns[:1]
                if (found := parse_cell(row[header.index(name)])) is not None
            ],
        )
