"""`fairseq-xling translate mds` over a grid: Liu et al. 2020, 4.2, Table 3."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "Liu et al. (2020), 4.2 and Table 3"
# figure of a cell: axis label
FIGURES = {"convert_rate": "convert rate (share)", "precision": "BLEU-1 precision (%)"}


@KINDS.register("mean-difference")
class MeanDifference:
    """Convert rate and BLEU-1 by layer, a line for each alpha."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"summary", "chosen", "cells"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        cells, summary = record["cells"], record["summary"]
        source, target = summary["pair"]
        names = [key for key, value in cells[0].items() if not isinstance(value, str)]
        table = names, [[cell.get(name) for name in names] for cell in cells]
        chosen = record["chosen"]
        header = ["setting", "layer", "alpha", "convert rate", "BLEU-1 precision", "BLEU-1"]
        keys = ("layer", "alpha", "convert_rate", "precision", "bleu")
        rows = [[name, *(one.get(key) for key in keys)] for name, one in chosen.items()]
        sizes = ", ".join(
            f"|V_{lang}| = {size:,}"
            for lang, size in zip(summary["pair"], summary["sizes"], strict=True)
        )
        facts = (
            f"{source} to {target}, {summary['lines']:,} lines.",
            f"{sizes}, in both {summary['common']:,}.",
            "Alpha is a multiple of the mean difference of the languages' states.",
        )
        return Page(
            title=f"Token translation by the mean difference, {source} to {target}",
            source=SOURCE,
            lead=["States of one layer are shifted; every position then outputs its best token."],
            sections=[
                Section(
                    "By layer and alpha",
                    figure=partial(draw, panels(cells, chosen)),
                    notes=caption(result, SOURCE, *facts),
                ),
                Section("Chosen settings", header=header, rows=rows, notes=record["notes"]),
            ],
            tables={"cells": table, "chosen": (header, rows)},
            measured=_measured(chosen, source, target),
        )


def panels(cells: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> list[Panel]:
    """Figures by layer, a line for each alpha, with the best cell and the model without shift."""
    base, best = chosen["no shift"], chosen["best"]
    moved = [cell for cell in cells if cell["alpha"]]
    found = []
    for name, label in FIGURES.items():
        lines = []
        for style, alpha in enumerate(dict.fromkeys(cell["alpha"] for cell in moved)):
            own = sorted((c["layer"], _number(c.get(name))) for c in moved if c["alpha"] == alpha)
            x, y = zip(*own, strict=True)
            lines.append(Line(f"alpha {alpha:g}", x, y, style))
        value = _number(base.get(name))
        dotted = None if math.isnan(value) else (value, "no shift")
        place = best["layer"], f"best: layer {best['layer']}, alpha {best['alpha']:g}"
        found.append(
            Panel(lines, "layer that is shifted", label, chance=dotted, chosen=place, whole=True)
        )
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _measured(chosen: Mapping[str, Any], source: str, target: str) -> list[Measured]:
    found = []
    for name in ("best", "fixed"):
        if name not in chosen:
            continue
        cell = chosen[name]
        where = f"{source} to {target}, {name}: layer {cell['layer']}, alpha {cell['alpha']:g}"
        for row, key, words in (
            ("S11", "convert_rate", "convert rate"),
            ("S12", "precision", "BLEU-1 precision (%)"),
        ):
            if cell.get(key) is not None:
                found.append(Measured(row, f"{words}, {where}", cell[key]))
    return found
