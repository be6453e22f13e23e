"""The ablation table in the paper's layout: a row per setting, columns per target language.

Columns come from ``COLUMNS``; a further measure, such as a zero-shot task, is one more entry.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.runs.figures import DotPanel, draw_dots, to_svg
from fairseq_xling.runs.provenance import machine, provenance
from fairseq_xling.runs.report import Section, commands_section, write_report
from fairseq_xling.runs.sharing_settings import Setting
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import markdown_table, write_csv
from fairseq_xling.runs.training_log import parameter_count

if TYPE_CHECKING:
    from fairseq_xling.runs.ablation_config import AblationConfig


@dataclasses.dataclass(frozen=True)
class Column:
    """A figure that `fairseq-xling eval` leaves under ``scores[language][score]`` of a measure."""

    measure: str
    score: str
    title: str
    digits: int = 3


COLUMNS = (
    Column("retrieval", "retrieval", "sentence P@1"),
    Column("words", "word_mrr", "word MRR"),
    Column("bpw", "bpw", "bits per word", 2),
)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One trained model: where its evaluation and its training log lie."""

    setting: Setting
    target: str
    seed: int
    result: Path
    log: Path


@dataclasses.dataclass
class Summary:
    """Values by (setting code, target, column title), one per seed, in the order of the seeds."""

    settings: list[Setting]
    targets: list[str]
    columns: list[Column]
    values: dict[tuple[str, str, str], list[float]]
    chance: dict[tuple[str, str], float]
    parameters: dict[tuple[str, str], int]


def summarise(cells: Sequence[Cell]) -> Summary:
    """Read the results of all models."""
    settings = list({cell.setting.code: cell.setting for cell in cells}.values())
    targets = list(dict.fromkeys(cell.target for cell in cells))
    values: dict[tuple[str, str, str], list[float]] = {}
    chance: dict[tuple[str, str], float] = {}
    parameters = {}
    for cell in cells:
        measures = read_json(cell.result)["results"][0]["measures"]
        parameters[cell.setting.code, cell.target] = parameter_count(cell.log)
        for column in COLUMNS:
            if column.measure not in measures:
                continue
            found = measures[column.measure]
            key = (cell.setting.code, cell.target, column.title)
            values.setdefault(key, []).append(found["scores"][cell.target][column.score])
            if column.score in found["chance"].get(cell.target, {}):
                at_random = found["chance"][cell.target][column.score]
                chance[cell.target, column.title] = at_random
    columns = [column for column in COLUMNS if any(key[2] == column.title for key in values)]
    return Summary(settings, targets, columns, values, chance, parameters)


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Mean and sample standard deviation over seeds.

    >>> mean_and_spread([0.1, 0.2, 0.3], 2), mean_and_spread([0.5], 3)
    ('0.20 ± 0.10', '0.500')
    """
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def table(summary: Summary) -> tuple[list[str], list[list[Any]]]:
    """Header and rows; the delta columns are means over the target languages, against the first
    row."""
    header = ["setting", "", "parameters"]
    for column in summary.columns:
        header += [f"{column.title}, {target}" for target in summary.targets]
        header.append(f"Δ {column.title}")
    header.append("paper: XNLI")
    first = summary.settings[0].code
    rows = []
    for setting in summary.settings:
        counts = [summary.parameters[setting.code, target] for target in summary.targets]
        row: list[Any] = [setting.code, setting.name, round(statistics.fmean(counts))]
        for column in summary.columns:
            deltas = []
            for target in summary.targets:
                values = summary.values[setting.code, target, column.title]
                base = summary.values[first, target, column.title]
                row.append(mean_and_spread(values, column.digits))
                deltas.append(statistics.fmean(values) - statistics.fmean(base))
            row.append(f"{statistics.fmean(deltas):+.{column.digits}f}")
        rows.append([*row, None if setting.paper_xnli is None else f"{setting.paper_xnli:.1f}"])
    return header, rows


def write_ablation(
    run: Path, config: AblationConfig, cells: Sequence[Cell], steps: Sequence[Step]
) -> None:
    """Write ``table.md``, ``table.csv``, ``plot.svg``, ``report.html`` and ``results.json``."""
    summary = summarise(cells)
    header, rows = table(summary)
    notes = _notes(summary, config)
    svg = to_svg(draw_dots(_panels(summary)))
    with atomic_write(run / "plot.svg", "w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n' + svg)
    with atomic_write(run / "table.md", "w") as file:
        file.write(markdown_table(header, rows) + "\n\n")
        file.write("\n".join(f"- {note}" for note in notes) + "\n")
    chance = {key: summary.chance.get(key[1:]) for key in summary.values}
    write_csv(
        run / "table.csv",
        ["setting", "target", "measure", "seed", "value", "chance", "parameters"],
        [
            [*key, seed, value, chance[key], summary.parameters[key[:2]]]
            for key, values in summary.values.items()
            for seed, value in zip(config.seed_list, values, strict=True)
        ],
    )
    record = {
        "config": dataclasses.asdict(config),
        "header": header,
        "rows": rows,
        "notes": notes,
        "provenance": provenance({}),
    }
    write_json(run / "results.json", record)
    settings = [(name, str(value)) for name, value in dataclasses.asdict(config).items()]
    sections = [
        Section("Table", header=header, rows=rows, notes=notes),
        Section("Single seeds", svg=svg),
        Section("Settings", header=["option", "value"], rows=settings),
        commands_section(steps),
    ]
    lead = ["What a masked language model of two languages needs in order to align them."]
    write_report(run / "report.html", "Emerging cross-lingual structure", lead, sections)


def _panels(summary: Summary) -> list[DotPanel]:
    names = [f"{setting.code} {setting.name}" for setting in summary.settings]
    alignment = [column for column in summary.columns if column.measure != "bpw"]
    panels = []
    for column in alignment:
        for target in summary.targets:
            chance = summary.chance.get((target, column.title))
            panels.append(
                DotPanel(
                    names,
                    [summary.values[s.code, target, column.title] for s in summary.settings],
                    xlabel=f"{column.title}, best layer",
                    title=f"{target}: {column.title}",
                    chance=None if chance is None else (chance, f"chance ({chance:.4f})"),
                )
            )
    return panels


def _notes(summary: Summary, config: AblationConfig) -> list[str]:
    bpw = {column.title for column in summary.columns if column.measure == "bpw"}
    chances = ", ".join(
        f"{title} {chance:.4f} ({target})"
        for (target, title), chance in summary.chance.items()
        if title not in bpw
    )
    return [
        f"Mean ± standard deviation over seeds {config.seeds}; Δ is the mean difference "
        f"to {summary.settings[0].code} over the target languages; parameters is their mean, too.",
        "Sentence P@1 and word MRR are those of the best layer, without any mapping, at the "
        f"checkpoint with the lowest {config.language_list[0]} validation perplexity. "
        f"A model that knows nothing: {chances}.",
        f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {config.layers} layers.",
        "Bits per word are comparable only between rows with the same vocabulary (A1, A9, A10; "
        "A3, A5; A4; A6 to A8 and C).",
        "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, of "
        "models a thousand times larger; they stand here for orientation only.",
        f"{machine()}.",
    ]
