"""The results of the data-size and window study: figures by model, size and window, and the drop.

    drop = (figure_long - figure_short) / figure_long

Figures are the MRR of translations and, for fine-tuned models, those of zero-shot transfer.

Liu et al. 2020, section 3.2.
"""

import functools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_json
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds, read_cell
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.gold_tasks import transfer_mean

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
MRR = "MRR"
SOURCE = "Liu et al. (2020), 3.2"
_TASKS = (
    "Tasks: models learn in the first language and are tested in the targets; the mean over "
    "these. Encoders are fine-tuned (`fairseq-xling eval transfer`); vectors stay as they are, and "
    "a small network reads them (`--static-classifier`)."
)

_READY = (
    "A model without a number of sentences was trained elsewhere: it is only evaluated, with its "
    "own vocabulary and with contexts in its own training text."
)


@dataclass(frozen=True)
class WindowModel:
    """One model, the path of its evaluation, and the folders of its tasks by name.

    ``size`` and ``window`` are None of a model that the study did not train.
    """

    model: str
    title: str
    size: int | None
    window: int | None
    seed: int
    result: Path
    tasks: Mapping[str, Path] = field(default_factory=dict)

    def scores(self, target: str) -> dict[str, float]:
        """``word_mrr`` and the like of a target language."""
        return read_json(self.result)["results"][0]["measures"]["words"]["scores"][target]

    def transfer(self, task: str, target: str) -> float:
        """The task's figure in a target language, in percent, the mean over its seeds."""
        return transfer_mean(self.tasks[task], target)


# A figure of a model in a target language, None where it was not measured.
Read = Callable[[WindowModel, str], float | None]


def drop(long: float, short: float) -> float:
    """The share that is lost with the shorter window; nan for 0/0.

    >>> drop(0.5, 0.4), drop(0.0, 0.1)
    (0.19999999999999996, nan)
    """
    return (long - short) / long if long else math.nan


def table(
    cells: Sequence[WindowModel], targets: Sequence[str], tasks: Mapping[str, str] | None = None
) -> tuple[list[str], list[list[Any]]]:
    """A row for each model and size, means over the target languages.

    A model that the study did not train stands under the longest window, without a drop.

    Args:
        tasks: titles by name.
    """
    windows = sorted({cell.window for cell in cells if cell.window}, reverse=True)
    columns: dict[str, tuple[Read, int]] = {MRR: (_mrr, 3)}
    for name, title in (tasks or {}).items():
        columns[f"{title} (%)"] = (functools.partial(_transfer, name), 1)
    header = ["model", "sentences"]
    for title in columns:
        header += [*(f"{title}, window {window}" for window in windows), drop_title(title)]
    rows = []
    for model in dict.fromkeys(cell.model for cell in cells):
        for size in sorted({cell.size or 0 for cell in cells if cell.model == model}):
            own = [cell for cell in cells if (cell.model, cell.size or 0) == (model, size)]
            row: list[Any] = [own[0].title, size or None]
            for read, digits in columns.values():
                found = [
                    _values([c for c in own if (c.window or windows[0]) == w], targets, read)
                    for w in windows
                ]
                row += [OverSeeds.of(values, digits) for values in found]
                row.append(_drop(found[0], found[-1]))
            rows.append(row)
    return header, rows


def drop_title(title: str) -> str:
    """The name of the column with the drop of ``title``.

    >>> drop_title("MRR"), drop_title("NLI (%)")
    ('drop (%)', 'drop of NLI (%)')
    """
    return "drop (%)" if title == MRR else f"drop of {title}"


def _drop(long: Sequence[float], short: Sequence[float]) -> OverSeeds | None:
    """In percent, of the means."""
    lost = drop(statistics.fmean(long), statistics.fmean(short)) if long and short else math.nan
    return None if math.isnan(lost) else OverSeeds((100 * lost,), 1, signed=True)


def _mrr(cell: WindowModel, target: str) -> float:
    return cell.scores(target)["word_mrr"]


def _transfer(task: str, cell: WindowModel, target: str) -> float | None:
    return cell.transfer(task, target) if task in cell.tasks else None


def write_size_window(
    run: Path,
    config: Mapping[str, Any],
    targets: Sequence[str],
    cells: Sequence[WindowModel],
    steps: Sequence[Step],
    tasks: Mapping[str, str] | None = None,
) -> None:
    """Write `FILES` into ``run``; ``tasks`` are titles by name."""
    header, rows = table(cells, targets, tasks)
    names = ("word_mrr", "word_p1", "word_layer")
    record = {
        "config": dict(config),
        "header": header,
        "rows": rows,
        "tasks": list(tasks or {}),
        "models": [
            {
                **{"model": c.title, "sentences": c.size, "window": c.window, "seed": c.seed},
                "language": target,
                **{name: c.scores(target)[name] for name in names},
                **{task: _transfer(task, c, target) for task in tasks or {}},
            }
            for c in cells
            for target in targets
        ],
    }
    results = {c.result.stem: c.result for c in cells}
    results |= {path.name: path / "results.json" for c in cells for path in c.tasks.values()}
    write_results(SizeWindow, run, record, results, steps)


@KINDS.register("size-window")
class SizeWindow(Kind):
    """Dots of MRR, a row for each model, size and window; and the table."""

    name = "size-window"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        header = record["header"]
        rows = [[read_cell(cell) for cell in row] for row in record["rows"]]
        facts = (f"Languages {record['config']['languages']}.", seeds_in_words(seeds, "dots"))
        notes = [
            "MRR of the dictionary's translations (`fairseq-xling eval --measure words`), the mean "
            "over the target languages; for the masked LM at its best layer for each language. "
            "Vectors have one layer.",
            "Every window of a size has the same tokens in the same order. Words have their "
            "contexts in the same text for every model, in segments of the model's own window.",
            "Drop: (longest - shortest) / longest window, of the means.",
            *([_TASKS] if record["tasks"] else []),
            *([_READY] if any(row[1] is None for row in rows) else []),
            f"{result.machine}.",
        ]
        models = record["models"]
        return Page(
            title="Size of the text and length of its segments",
            source=SOURCE,
            lead=["Vectors and encoders trained on more or less text, in segments of two lengths."],
            sections=[
                Section("Table", header=header, rows=rows, notes=notes, name="table"),
                Section(
                    "Single seeds",
                    figure=partial(draw_dots, [_panel(header, rows)]),
                    notes=caption(result, SOURCE, *facts),
                    name="plot",
                ),
            ],
            tables={"table": (list(models[0]), [list(model.values()) for model in models])},
            measured=[
                Measured("E11", f"{title} with the shorter window, {_name(row)}", cell.mean)
                for place, title in enumerate(header)
                if title.startswith("drop")
                for row in rows
                if (cell := row[place]) is not None
            ],
        )


def _name(row: Sequence[Any]) -> str:
    return row[0] if row[1] is None else f"{row[0]}, {row[1]:,}"


def _panel(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> DotPanel:
    """The MRR of each seed; a name for each model, size and window."""
    names, values = [], []
    for row in rows:
        for title, cell in zip(header, row, strict=True):
            figure, window, length = title.rpartition(", window ")
            if window and figure == MRR:
                if row[1] is not None:
                    names.append(f"{_name(row)}, window {length}")
                    values.append(cell.values if cell else [])
                elif cell:
                    names.append(_name(row))
                    values.append(cell.values)
    return DotPanel(names, values, "MRR")


def _values(cells: Sequence[WindowModel], targets: Sequence[str], read: Read) -> list[float]:
    """Mean over languages, one for each seed; none for models that were not measured."""
    found = [[read(cell, target) for target in targets] for cell in cells]
    return [statistics.fmean(values) for values in found if None not in values]
