"""Output of `fairseq-xling translate mds`: scores of one translation, or the table of a grid.

Liu et al. 2020, section 4.2.2 and Table 3.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Scores, Shift, best_shift, pivot
from fairseq_xling.files import write_json
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.figures import draw
from fairseq_xling.results.tables import text_table, write_csv
from fairseq_xling.verbs.parts.mean_difference_result import panels

_CSV = ["layer", "alpha", "convert_rate", "precision", "bleu", "brevity_penalty"]
_COUNTS = ["tokens", "shared", "converted", "neither"]
_HEADER = ["setting", "layer", "alpha", "convert rate", "BLEU-1 precision", "BLEU-1"]


@dataclass(frozen=True)
class Summary:
    """The facts shared by all cells.

    Attributes:
        pair: source and target language.
        sizes: of their token sets, |Vs| and |Vt|; common: |Vs and Vt|.
        split: of the data folder, for the token sets.
        mean_tokens: number of tokens of each mean.
        lines: of the text.
        scored: whether there is a reference.
    """

    pair: tuple[str, ...]
    sizes: tuple[int, ...]
    common: int
    split: str
    mean_tokens: tuple[int, ...]
    lines: int
    scored: bool

    def lead(self) -> str:
        """Pair and vocabularies in two lines."""
        (source, target), (own, other) = self.pair, self.sizes
        tokens = " and ".join(f"{number:,}" for number in self.mean_tokens)
        return (
            f"{source} -> {target}, {self.lines:,} lines; means over {tokens} tokens\n"
            f"tokens that occur in {self.split!r} text: |V_{source}| = {own:,}, "
            f"|V_{target}| = {other:,}, in both {self.common:,}"
        )


def write_single(
    output: Path, summary: Summary, cell: Shift, scores: Scores, origin: Mapping[str, Any]
) -> None:
    """Write ``<output>.json`` and print its figures."""
    record = {"summary": asdict(summary), "layer": cell.layer, "alpha": cell.alpha}
    write_json(f"{output}.json", {**record, "scores": scores, "provenance": origin})
    print(summary.lead())
    rows = [_row("shifted", cell, scores)]
    columns = len(_HEADER) if summary.scored else 4
    print(text_table(_HEADER[:columns], [row[:columns] for row in rows]))
    print(f"({_third(scores)})")
    _print_cut(scores)
    print(f"written to {output}, figures to {output}.json")


def write_table(
    output: Path,
    summary: Summary,
    scores: Mapping[Shift, Scores],
    fixed: Shift | None,
    origin: Mapping[str, Any],
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
    alphas = list(dict.fromkeys(cell.alpha for cell in scores if cell != NO_SHIFT))
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
        "summary": asdict(summary),
        "chosen": {name: {**asdict(cell), **scores[cell]} for name, cell in chosen.items()},
        "cells": [{**asdict(cell), **scores[cell]} for cell in ordered],
        "notes": notes,
    }
    write_json(output / "results.json", {**record, "provenance": origin})
    figure = partial(draw, panels(record["cells"], record["chosen"]))
    write_figure(output / "plot.svg", figure)
    print(summary.lead() + "\n")
    print(text_table(_HEADER, rows))
    for title, name in (("Convert rate", "convert_rate"), ("BLEU-1 precision", "precision")):
        print(f"\n{title}\n{text_table(*pivot(scores, name, alphas))}")
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


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _print_cut(scores: Scores) -> None:
    if scores["cut"]:
        print(f"({scores['cut']:,} lines are longer than the model's positions, and were cut)")
