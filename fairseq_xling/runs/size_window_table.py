"""The table of the data-size and window study: MRR by model, size and window, and what is lost.

    drop = (MRR_long - MRR_short) / MRR_long

Liu et al. 2020, section 3.2 (SPEC E11).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.runs.ablation_table import mean_and_spread
from fairseq_xling.runs.figures import DotPanel, draw_dots, to_svg
from fairseq_xling.runs.provenance import machine, provenance
from fairseq_xling.runs.report import Section, commands_section, write_report
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import markdown_table, write_csv

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
_TITLE = "How much text, and how much of it at a time"


@dataclass(frozen=True)
class Cell:
    """One trained model and where its evaluation lies."""

    model: str
    title: str
    size: int
    window: int
    seed: int
    result: Path

    def scores(self, target: str) -> dict[str, float]:
        """``word_mrr`` and the like of a target language."""
        return read_json(self.result)["results"][0]["measures"]["words"]["scores"][target]


def drop(long: float, short: float) -> float:
    """The share that is lost with the shorter window; nan if there was nothing to lose.

    >>> drop(0.5, 0.4), drop(0.0, 0.1)
    (0.19999999999999996, nan)
    """
    return (long - short) / long if long else math.nan


def table(cells: Sequence[Cell], targets: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """A row for each model and size, means over the target languages."""
    windows = sorted({cell.window for cell in cells}, reverse=True)
    header = ["model", "sentences", *(f"MRR, window {window}" for window in windows), "drop (%)"]
    rows = []
    for model in dict.fromkeys(cell.model for cell in cells):
        for size in sorted({cell.size for cell in cells}):
            own = [cell for cell in cells if (cell.model, cell.size) == (model, size)]
            found = [_values([c for c in own if c.window == w], targets) for w in windows]
            lost = drop(statistics.fmean(found[0]), statistics.fmean(found[-1]))
            figures = [mean_and_spread(values, 3) for values in found]
            share = "-" if math.isnan(lost) else f"{100 * lost:+.1f}"
            rows.append([own[0].title, size, *figures, share])
    return header, rows


def write_table(
    run: Path,
    config: Mapping[str, Any],
    targets: Sequence[str],
    cells: Sequence[Cell],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    header, rows = table(cells, targets)
    svg = to_svg(draw_dots([_panel(cells, targets)]))
    notes = [
        "MRR of the dictionary's translations (`fairseq-xling eval --measure words`), the mean "
        "over the target languages; of the masked LM on its best layer for each language. Vectors "
        "have one layer.",
        "Every window of a size has the same tokens in the same order. Words have their contexts "
        "in the same text for every model, in segments of the model's own window.",
        "Drop: (longest - shortest) / longest window.",
        f"{machine()}.",
    ]
    with atomic_write(run / "plot.svg", "w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n' + svg)
    with atomic_write(run / "table.md", "w") as file:
        file.write(markdown_table(header, rows) + "\n\n")
        file.write("\n".join(f"- {note}" for note in notes) + "\n")
    names = ("word_mrr", "word_p1", "word_layer")
    write_csv(
        run / "table.csv",
        ["model", "sentences", "window", "seed", "language", *names],
        [
            [c.model, c.size, c.window, c.seed, target, *(c.scores(target)[n] for n in names)]
            for c in cells
            for target in targets
        ],
    )
    record = {"config": dict(config), "header": header, "rows": rows, "notes": notes}
    results = {f"{c.model}-{c.size}-{c.window}-{c.seed}": c.result for c in cells}
    write_json(run / "results.json", {**record, "provenance": provenance(results)})
    settings = [(name, str(value)) for name, value in config.items()]
    sections = [
        Section("Table", header=header, rows=rows, notes=notes),
        Section("Single seeds", svg=svg),
        Section("Settings", header=["option", "value"], rows=settings),
        commands_section(steps),
    ]
    lead = ["Word retrieval of vectors and encoders trained on more or less text, in segments."]
    write_report(run / "report.html", _TITLE, lead, sections)


def _values(cells: Sequence[Cell], targets: Sequence[str]) -> list[float]:
    """Mean MRR over languages, one for each seed."""
    return [statistics.fmean(cell.scores(x)["word_mrr"] for x in targets) for cell in cells]


def _panel(cells: Sequence[Cell], targets: Sequence[str]) -> DotPanel:
    keys = list(dict.fromkeys((cell.model, cell.title, cell.size, cell.window) for cell in cells))
    names = [f"{title}, {size:,}, window {window}" for _, title, size, window in keys]
    values = [
        _values([c for c in cells if (c.model, c.title, c.size, c.window) == key], targets)
        for key in keys
    ]
    return DotPanel(names, values, "MRR")
