"""`fairseq-xling probe`: what can be predicted from a frozen encoder's states of spans."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw, to_svg
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.plots import draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.studies.pages.studies import column_bars

SOURCE = "CLCR, Tables 5 and 6"


@KINDS.register("probing")
class Probing:
    """F1 by layer; bars for a single layer, or a mixture."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"probes", "baseline", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        probes = record["probes"]
        header, rows = record["header"], record["rows"]
        seeds = sorted({one["options"]["seed"] for one in probes})
        single = {one["layers"][0] for one in probes if len(one["layers"]) == 1}
        facts = ("Micro F1 in percent.", seeds_in_words(seeds, whiskers=len(single) < 2))
        if len(single) > 1:
            figure = draw([_panel(record)])
        else:
            columns = [name for name in header if name.endswith(" F1")]
            names = [row[0] for row in rows]
            figure = draw_bars(column_bars(names, header, rows, columns, " (%)"))
        return Page(
            title="Probing spans of a frozen encoder",
            source=SOURCE,
            lead=["A small network reads the states of spans; the encoder does not change."],
            sections=[
                Section("Micro F1", svg=to_svg(figure), notes=caption(result, SOURCE, *facts)),
                Section("Table", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"table": (header, rows), "scores": _scores(probes)},
            measured=_measured(probes, record.get("row", "E8")),
        )


def _panel(record: Mapping[str, Any]) -> Panel:
    single = [one for one in record["probes"] if len(one["layers"]) == 1]
    layers = sorted({one["layers"][0] for one in single})
    lines = []
    for style, name in enumerate(single[0]["scores"]):
        y = [
            100 * statistics.fmean(p["scores"][name]["f1"] for p in single if p["layers"] == [n])
            for n in layers
        ]
        lines.append(Line("dev" if name == "valid" else name, layers, y, style))
    prior = record["baseline"]["valid"]
    dotted = 100 * prior["f1"], f"always {prior['label']} (dev)"
    return Panel(lines, "layer (0 = embedding output)", "micro F1 (%)", chance=dotted, whole=True)


def _scores(probes: Sequence[Mapping[str, Any]]) -> Table:
    names = ["precision", "recall", "f1", "right", "predicted", "gold"]
    return ["probe", "seed", "file", *names], [
        [one["variant"], one["options"]["seed"], file, *(scores[name] for name in names)]
        for one in probes
        for file, scores in one["scores"].items()
    ]


def _measured(probes: Sequence[Mapping[str, Any]], row: str) -> list[Measured]:
    found = []
    for file in probes[0]["scores"]:
        by_probe: dict[str, list[float]] = {}
        for one in probes:
            by_probe.setdefault(one["variant"], []).append(one["scores"][file]["f1"])
        best = max(by_probe, key=lambda name: statistics.fmean(by_probe[name]))
        if file != "valid" or len(probes[0]["scores"]) == 1:
            value = 100 * statistics.fmean(by_probe[best])
            found.append(Measured(row, f"micro F1 (%) of {file}, best probe {best}", value))
    return found
