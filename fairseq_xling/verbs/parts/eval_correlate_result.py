"""`fairseq-xling eval correlate`: CKA against retrieval over layers and pairs."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from fairseq_xling.results.charts import scatter
from fairseq_xling.results.frame import make_frame
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
        notes = caption(result, SOURCE, "A point is a layer, labelled with its number.")
        return Page(
            title=f"{record['x']} against {record['y']}",
            source=SOURCE,
            lead=["Do more similar layers also retrieve more translations?"],
            sections=[
                Section(
                    "Scatter plot",
                    figure=partial(draw_points, record),
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


def draw_points(record: Mapping[str, Any]) -> Figure:
    """One measure against the other, a colour for each pair and a number for each layer."""
    frame = make_frame({**point, "value": point["y"]} for point in record["points"])
    return scatter(frame, record["x"], record["y"], x="x", group="pair", label="layer")
