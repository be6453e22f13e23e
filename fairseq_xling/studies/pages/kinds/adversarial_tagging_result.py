"""`fairseq-xling ablate adversarial-tagging`."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.runs.figures import draw, to_svg
from fairseq_xling.runs.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.runs.plots import draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.studies.pages.studies import column_bars, parse_cell
from fairseq_xling.studies.tagging.result import STUDY, TITLE, panels

SOURCE = "the transfer note, 2.1 and 2.2"


@KINDS.register("adversarial-tagging")
class AdversarialTagging:
    """Bars for the rows of each target, and lines by epoch."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("study") == STUDY

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        names = [f"{row[0]}: {row[1]}" for row in rows]
        columns = [name for name in header[2:] if name.startswith(f"{record['metric']}, ")]
        bars = draw_bars(column_bars(names, header, rows, columns, " (%)"))
        seeds = seeds_in_words(config["seeds"])
        sections = [
            Section("Figures by row", svg=to_svg(bars), notes=caption(result, SOURCE, seeds)),
            Section("Table", header=header, rows=rows, notes=record["notes"]),
        ]
        if record["curves"]:
            first = f"Seed {record['curves'][0]['seed']}; the target's is of its test file."
            figure = to_svg(draw(panels(record), common=True))
            notes = caption(result, SOURCE, first)
            sections.append(Section("By epoch", svg=figure, notes=notes))
        return Page(
            title=TITLE,
            source=SOURCE,
            lead=["A tagger of languages whose annotation it has not seen."],
            sections=sections,
            tables={"table": (header, rows), "curves": _curves(record)},
            measured=[
                Measured("E12", f"{header[place]} (%), row {name}", cell[0])
                for row, name in zip(rows, names, strict=True)
                for place in (header.index("mean of targets"),)
                if (cell := parse_cell(row[place]))
            ],
        )


def _curves(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """A line for each epoch of each curve."""
    header = ["row", "target", "seed", "epoch", "source", "target figure", "discriminator"]
    rows = []
    for one in record["curves"]:
        for epoch, (source, target) in enumerate(
            zip(one["source"], one["figures"], strict=True), start=1
        ):
            said = one["discriminator"]
            known = said[epoch - 1] if said else None
            rows.append([one["row"], one["target"], one["seed"], epoch, source, target, known])
    return header, rows
