"""`fairseq-xling eval overlap` and `eval word-order`: figures against properties of languages.

Pires et al. 2019, Figures 2 and 3.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fairseq_xling.results.figures import Points, draw_scatter, to_svg
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

# the column on the horizontal axis: its row, the paper's figure, words for the axis
AXES = {
    "overlap": ("E9", "Figure 2", "subwords that entities share (share of the union)"),
    "shared": ("E10", "Figure 3", "shared word-order features"),
}


@KINDS.register("scatter")
class Scatter:
    """The scatter plot, its correlations and every figure."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"correlations", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], record["rows"]
        column = next(name for name in AXES if name in header)
        row, figure, xlabel = AXES[column]
        source = f"Pires et al. (2019), {figure}"
        metric = f"{record['metric']} (%)"
        groups = _groups(header, rows, column, metric)
        names = ["encoder", "points", "Pearson", "Spearman"]
        found = [[one[name] for name in names] for one in record["correlations"]]
        whole = column != "overlap"
        svg = to_svg(draw_scatter(groups, xlabel, f"zero-shot {metric}", whole=whole))
        return Page(
            title=record["title"],
            source=source,
            lead=["Each point is a language that the model was not trained on."],
            sections=[
                Section(
                    "Scatter plot",
                    svg=svg,
                    notes=[*caption(result, source, "Means over seeds."), *record["notes"]],
                ),
                Section("Correlation", header=names, rows=found),
                Section("Every figure", header=header, rows=rows),
            ],
            tables={"figures": (header, rows), "correlations": (names, found)},
            measured=[
                Measured(
                    row, f"Pearson's correlation with zero-shot {metric}, {one['encoder']}", value
                )
                for one in record["correlations"]
                if (value := one["Pearson"]) is not None
            ],
        )


def _groups(
    header: Sequence[str], rows: Sequence[Sequence[Any]], column: str, metric: str
) -> list[Points]:
    place = {
        name: header.index(name) for name in ("encoder", "trained on", "language", "zero-shot")
    }
    drawn = [
        row
        for row in rows
        if row[place["zero-shot"]] == "yes" and row[header.index(column)] is not None
    ]
    several = len({row[place["trained on"]] for row in rows}) > 1
    groups = []
    for encoder in dict.fromkeys(row[place["encoder"]] for row in drawn):
        own = [row for row in drawn if row[place["encoder"]] == encoder]
        names = [
            f"{row[place['trained on']]}→{row[place['language']]}"
            if several
            else row[place["language"]]
            for row in own
        ]
        x, y = ([row[header.index(name)] for row in own] for name in (column, metric))
        groups.append(Points(encoder, x, y, names, len(groups)))
    return groups
