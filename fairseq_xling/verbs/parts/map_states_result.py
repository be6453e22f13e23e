"""`fairseq-xling map procrustes` and similar: a map for each layer, from pairs of states.

Conneau et al. 2020, sections 5.1 and 5.1.2.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1"
ROWS = {"procrustes": "S1", "unconstrained": "S2", "contextual": "S6"}
ROWS |= {"meeting": "T23", "anchored": "T23"}
_BEFORE = "_unmapped"  # suffix of the name of a figure measured without the map


@KINDS.register("map-states")
class MapStates:
    """How well the pairs fit, by layer, before and after the map."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"method", "settings", "pairs", "layers", "warnings"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, settings = result.record, result.record["settings"]
        fits = {int(layer): fit for layer, fit in record["layers"].items()}
        layers = sorted(fits)
        keys = list(fits[layers[0]])
        table = ["layer", *keys], [[n, *(fits[n].get(key) for key in keys)] for n in layers]
        given = [settings[side] for side in ("moving", "fixed")]
        sides = " to ".join(f"{side['lang']} ({side['unit']})" for side in given)
        name = next(key for key in keys if key + _BEFORE in keys)
        label = f"{name.replace('_', ' ')}, mean over the pairs"
        facts = (
            f"Pairs: {settings['pairs']}; both sides normalised by {settings['normalize']}.",
            f"Unit: {label}.",
        )
        curves = {
            words: [fits[n][key] for n in layers]
            for words, key in (("without the map", name + _BEFORE), ("with the map", name))
        }
        if len(layers) > 1:
            lines = [
                Line(words, layers, y, style) for style, (words, y) in enumerate(curves.items())
            ]
            figure = partial(
                draw, [Panel(lines, "layer (0 = embedding output)", label, whole=True)]
            )
        else:
            bars = Bars(label, [values[0] for values in curves.values()])
            figure = partial(draw_bars, [BarPanel(list(curves), [bars], label)])
        row = ROWS.get(record["method"], "")
        what = f"{label}, {record['method']}, {sides}, layer {layers[-1]}"
        notes = caption(result, SOURCE, *facts)
        return Page(
            title=f"Map by {record['method']}, {sides}",
            source=SOURCE,
            lead=record["warnings"],
            sections=[
                Section("By layer", figure=figure, notes=notes),
                Section("Every layer", header=table[0], rows=table[1]),
            ],
            tables={"layers": table},
            measured=[Measured(row, what, fits[layers[-1]][name])] if row else [],
        )
