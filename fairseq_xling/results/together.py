"""Several results of one measure in one figure: encoders, language pairs or maps compared.

Conneau et al. 2020, Figure 7, compares bilingual, monolingual and random encoders in this way.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Page, Result, caption
from fairseq_xling.results.report import Section

LAYER = "layer (0 = embedding output)"


def join_results(measure: str, results: Sequence[Result]) -> Result:
    """All records in one, by the name of their file."""
    last = max(results, key=lambda result: result.date)
    origin = {
        "command": "; ".join(result.command for result in results if result.command),
        "date": last.date,
        "machine": last.machine,
        "versions": dict(last.versions),
    }
    records = {result.name: dict(result.record) for result in results}
    return Result(Path(f"{measure}-together.json"), {"results": records, "provenance": origin})


def join_page(measure: str, source: str, unit: str, results: Sequence[Result]) -> Page:
    """A line for each result: its headline curve by layer."""
    lines, rows = [], []
    for style, result in enumerate(results):
        record = result.record
        layers, values = record["layers"], record["curves"][record["headline"]]
        label = f"{result.name} ({record['pair']})"
        lines.append(Line(label, layers, values, style))
        rows += [[label, n, value] for n, value in zip(layers, values, strict=True)]
    headline = results[0].record["headline"]
    header = ["results", "layer", headline]
    panel = Panel(lines, xlabel=LAYER, ylabel=unit, title=headline, whole=True)
    means = [[line.label, sum(line.y) / len(line.y)] for line in lines]
    origin = join_results(measure, results)
    table: list[Any] = [[result.name, result.command] for result in results]
    return Page(
        title=f"{measure}, {headline}: {len(results)} results together",
        source=source,
        lead=["Each line is a file of results with its own page."],
        sections=[
            Section(
                "By layer",
                figure=partial(draw, [panel]),
                notes=caption(origin, source, f"Unit: {unit}."),
            ),
            Section("Means over layers", header=["results", f"mean {headline}"], rows=means),
            Section("Commands", header=["results", "made by"], rows=table),
        ],
        tables={"layers": (header, rows), "means": (["results", "mean"], means)},
    )
