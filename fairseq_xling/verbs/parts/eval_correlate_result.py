"""`fairseq-xling eval correlate`: CKA against retrieval over layers and pairs."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.results.figures import Points, draw_scatter, to_svg
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

_POINT = ("pair", "layer", "x", "y")
SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.2 and Figure 7"


@KINDS.register("correlation")
class Correlation:
    """A point for each layer, a colour for each pair."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"measure", "correlations", "points", "x", "y"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header = ["pair", "points", "Pearson", "Spearman"]
        rows = [[one[name] for name in header] for one in record["correlations"]]
        points = record["points"]
        pairs = list(dict.fromkeys(point["pair"] for point in points))
        groups = []
        for style, pair in enumerate(pairs):
            own = [point for point in points if point["pair"] == pair]
            names = [str(point["layer"]) for point in own]
            x, y = ([point[side] for point in own] for side in "xy")
            groups.append(Points(pair, x, y, names, style))
        notes = caption(result, SOURCE, "A point is a layer, labelled with its number.")
        return Page(
            title=f"{record['x']} against {record['y']}",
            source=SOURCE,
            lead=["Do more similar layers also retrieve more translations?"],
            sections=[
                Section(
                    "Scatter plot",
                    svg=to_svg(draw_scatter(groups, record["x"], record["y"])),
                    notes=notes,
                ),
                Section("Correlation", header=header, rows=rows),
            ],
            tables={
                "correlations": (header, rows),
                "points": (_POINT, [[point[name] for name in _POINT] for point in points]),
            },
            measured=[
                Measured("S9", f"Pearson's correlation over layers, {one['pair']}", value)
                for one in record["correlations"]
                if (value := one["Pearson"]) is not None
            ],
        )
