"""Output of `fairseq-xling translate mds`: scores of a translation, the table of a grid, its page.

Liu et al. 2020, section 4.2 and Table 3.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Scores, Shift, best_shift
from fairseq_xling.core.files import write_json
from fairseq_xling.results.charts import curves
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.frame import arranged, make_frame, spread
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.results.tables import text_table, write_csv

_CSV = ["layer", "alpha", "convert_rate", "precision", "bleu", "brevity_penalty"]
_COUNTS = ["tokens", "shared", "converted", "neither"]
_HEADER = ["setting", "layer", "alpha", "convert rate", "BLEU-1 precision", "BLEU-1"]
Record = Mapping[str, Any]
SOURCE = "Liu et al. (2020), 4.2 and Table 3"
# figure of a cell: axis label
FIGURES = {"convert_rate": "convert rate (share)", "precision": "BLEU-1 precision (%)"}


def _lead(summary: Record) -> str:
    """Pair and vocabularies in two lines."""
    (source, target), (own, other) = summary["pair"], summary["sizes"]
    tokens = " and ".join(f"{number:,}" for number in summary["mean_tokens"])
    return (
        f"{source} -> {target}, {summary['lines']:,} lines; means over {tokens} tokens\n"
        f"tokens that occur in {summary['split']!r} text: |V_{source}| = {own:,}, "
        f"|V_{target}| = {other:,}, in both {summary['common']:,}"
    )


def write_single(
    output: Path, summary: Record, cell: Shift, scores: Scores, origin: Record
) -> None:
    """Write ``<output>.json`` and print its figures; ``summary`` is what all cells share."""
    record = {"summary": summary, "layer": cell.layer, "alpha": cell.alpha}
    write_json(f"{output}.json", {**record, "scores": scores, "provenance": origin})
    print(_lead(summary))
    rows = [_row("shifted", cell, scores)]
    columns = len(_HEADER) if summary["scored"] else 4
    print(text_table(_HEADER[:columns], [row[:columns] for row in rows]))
    print(f"({_third(scores)})")
    _print_cut(scores)
    print(f"written to {output}, figures to {output}.json")


def write_table(
    output: Path,
    summary: Record,
    scores: Mapping[Shift, Scores],
    fixed: Shift | None,
    origin: Record,
) -> None:
    """Write ``table.csv``, ``results.json`` and ``plot.svg`` into ``output``, and print tables."""
    best = best_shift(scores)
    chosen = {"no shift": NO_SHIFT, "best": best} | ({"fixed": fixed} if fixed else {})
    rows = [_row(name, cell, scores[cell]) for name, cell in chosen.items()]
    ordered = sorted(scores)
    names = [*_CSV, *_COUNTS]
    write_csv(
        output / "table.csv",
        names,
        [[getattr(cell, n, scores[cell].get(n)) for n in names] for cell in ordered],
    )
    alphas = dict.fromkeys(cell.alpha for cell in scores if cell != NO_SHIFT)
    notes = [
        "BLEU-1 precision is sacrebleu's of single words, without smoothing; BLEU-1 is that times "
        "the brevity penalty. The best cell is the one with the highest precision on this very "
        "text.",
        "Convert rate: share of output tokens that occur in the target's text only, among all "
        "tokens "
        "that do not occur in both.",
        *(f"{name}: {_third(scores[cell])}." for name, cell in chosen.items()),
    ]
    record = {
        "summary": summary,
        "chosen": {name: {**asdict(cell), **scores[cell]} for name, cell in chosen.items()},
        "cells": [{**asdict(cell), **scores[cell]} for cell in ordered],
        "notes": notes,
    }
    write_json(output / "results.json", {**record, "provenance": origin})
    write_figure(output / "plot.svg", partial(draw_grid, record["cells"], record["chosen"]))
    print(_lead(summary) + "\n")
    print(text_table(_HEADER, rows))
    frame = _by_layer(record["cells"], record["chosen"]["no shift"])
    frame["layer"] = frame["layer"].map(str)
    for title, name in (("Convert rate", "convert_rate"), ("BLEU-1 precision", "precision")):
        own = frame[frame["measure"] == name]
        table = spread(own, {"layer": "layer"}, "row", [f"alpha {alpha:g}" for alpha in alphas])
        print(f"\n{title}\n{text_table(*table)}")
    print("\n" + "\n".join(f"({note})" for note in notes))
    _print_cut(scores[NO_SHIFT])
    print(f"written to {output}: table.csv, results.json, plot.svg, every translation in cells/")


def _row(name: str, cell: Shift, scores: Scores) -> list[Any]:
    place = ["-", "-"] if cell == NO_SHIFT else [str(cell.layer), f"{cell.alpha:g}"]
    figures = (scores.get(key) for key in ("convert_rate", "precision", "bleu"))
    return [name, *place, *map(_number, figures)]


def _third(scores: Scores) -> str:
    """How many tokens are of neither language, and of which others."""
    if "neither" not in scores:
        return "tokens of neither language were not counted"
    share = scores["neither"] / max(scores["tokens"], 1)
    found = [f"{lang} {count:,}" for lang, count in scores["other_languages"].items()]
    others = f", of which occur in other languages: {', '.join(found)}" if found else ""
    return f"{share:.1%} of the tokens are of neither language{others}"


def _print_cut(scores: Scores) -> None:
    if scores["cut"]:
        print(f"({scores['cut']:,} lines are longer than the model's positions, and were cut)")


@KINDS.register("mean-difference")
class MeanDifference:
    """Convert rate and BLEU-1 by layer, a line for each alpha."""

    def recognises(self, record: Record) -> bool:
        return {"summary", "chosen", "cells"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        cells, summary = record["cells"], record["summary"]
        source, target = summary["pair"]
        names = [key for key, value in cells[0].items() if not isinstance(value, str)]
        table = names, [[cell.get(name) for name in names] for cell in cells]
        chosen = record["chosen"]
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
                    figure=partial(draw_grid, cells, chosen),
                    notes=caption(result, SOURCE, *facts),
                ),
                Section("Chosen settings", header=_HEADER, rows=rows, notes=record["notes"]),
            ],
            tables={"cells": table, "chosen": (_HEADER, rows)},
            measured=_measured(chosen, source, target),
        )


def _by_layer(cells: Sequence[Record], base: Record) -> pandas.DataFrame:
    """The figures of shifted cells, a row for each alpha; ``base`` has those without shift."""
    return make_frame(
        {"row": f"alpha {cell['alpha']:g}", "layer": cell["layer"], "measure": name}
        | {"value": cell.get(name), "chance": base.get(name)}
        for name in FIGURES
        for cell in cells
        if cell["alpha"]
    )


def draw_grid(cells: Sequence[Record], chosen: Record) -> Figure:
    """Figures by layer, a line for each alpha, with the best cell and the model without shift."""
    base, best = chosen["no shift"], chosen["best"]
    frame = arranged(_by_layer(cells, base), "measure", "row")
    place = best["layer"], f"best: layer {best['layer']}, alpha {best['alpha']:g}"
    return curves(
        frame.assign(value=frame["value"].map(_number)),
        FIGURES,
        xlabel="layer that is shifted",
        chance="no shift",
        chosen=dict.fromkeys(FIGURES, place),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _measured(chosen: Record, source: str, target: str) -> list[Measured]:
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
