"""The results of the sharing ablations, as in the paper: a row a setting, columns a language.

Columns come from ``MEASURES`` and from the zero-shot tasks of the study; a further measure is one
more entry.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairseq_xling.files import read_json
from fairseq_xling.results.claims import claims_section
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds, read_cell
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_log import parameter_count
from fairseq_xling.studies.emerging.settings import CLAIMS, Setting
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.gold_tasks import TASKS, transfer_mean

if TYPE_CHECKING:
    from fairseq_xling.studies.emerging.config import AblationConfig


SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"


@dataclasses.dataclass(frozen=True)
class SharingModel:
    """One trained model: the paths of its evaluation, training log and task folders, and of its
    evaluations by further test set."""

    setting: Setting
    target: str
    seed: int
    result: Path
    log: Path
    tasks: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    more: Mapping[str, Path] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """All that the table is made from."""
        return [self.result, self.log, *self.tasks.values(), *self.more.values()]


class Figure(NamedTuple):
    """A measured figure, with its chance level if known."""

    value: float
    chance: float | None = None


@dataclasses.dataclass(frozen=True)
class Column:
    """One figure of a model; ``read`` returns None if it was not measured.

    ``compares`` is False if rows of different vocabularies are not comparable.
    """

    title: str
    read: Callable[[SharingModel], Figure | None]
    digits: int = 3
    unit: str = ", best layer"
    compares: bool = True


def _measured(measure: str, score: str, test: str = "") -> Callable[[SharingModel], Figure | None]:
    """A figure of `fairseq-xling eval` under ``scores[language][score]``; ``test`` is a further
    test set."""

    def read(cell: SharingModel) -> Figure | None:
        file = cell.more[test] if test else cell.result
        found = read_json(file)["results"][0]["measures"].get(measure)
        if found is None:
            return None
        chance = found["chance"].get(cell.target, {}).get(score)
        return Figure(found["scores"][cell.target][score], chance)

    return read


def task_column(name: str, test: str = "test", first: bool = True) -> Column:
    """A figure of `fairseq-xling eval transfer` for the target language, in percent."""

    def read(cell: SharingModel) -> Figure | None:
        if name not in cell.tasks:
            return None
        return Figure(transfer_mean(cell.tasks[name], cell.target, test))

    title = TASKS[name].title if first else f"{TASKS[name].title} {test}"
    return Column(title, read, digits=1, unit=" (%)")


def columns_of(cell: SharingModel, tests: Sequence[str]) -> list[Column]:
    """The columns of a study; the name of the first test set goes unsaid."""
    first, *further = tests
    columns = list(MEASURES)
    for test in further:
        columns.append(Column(f"sentence P@1 {test}", _measured("retrieval", "retrieval", test)))
    for name in cell.tasks:
        columns += [task_column(name, test, test == first) for test in tests]
    return columns


MEASURES = (
    Column("sentence P@1", _measured("retrieval", "retrieval")),
    Column("word MRR", _measured("words", "word_mrr")),
    Column("bits per word", _measured("bpw", "bpw"), digits=2, compares=False),
)


@dataclasses.dataclass
class Summary:
    """Values by (setting code, target, column title), one per seed, in the order of the seeds."""

    settings: list[Setting]
    targets: list[str]
    columns: list[Column]
    values: dict[tuple[str, str, str], list[float]]
    chance: dict[tuple[str, str], float]
    parameters: dict[tuple[str, str], int]


def summarise(cells: Sequence[SharingModel], tests: Sequence[str] = ("test",)) -> Summary:
    """Read the results of all models on the sets ``tests``."""
    settings = list({cell.setting.code: cell.setting for cell in cells}.values())
    targets = list(dict.fromkeys(cell.target for cell in cells))
    known = columns_of(cells[0], tests)
    values: dict[tuple[str, str, str], list[float]] = {}
    chance: dict[tuple[str, str], float] = {}
    parameters = {}
    for cell in cells:
        parameters[cell.setting.code, cell.target] = parameter_count(cell.log)
        for column in known:
            found = column.read(cell)
            if found is None:
                continue
            key = (cell.setting.code, cell.target, column.title)
            values.setdefault(key, []).append(found.value)
            if found.chance is not None:
                chance[cell.target, column.title] = found.chance
    columns = [column for column in known if any(key[2] == column.title for key in values)]
    return Summary(settings, targets, columns, values, chance, parameters)


def table(summary: Summary, vocab_size: int) -> tuple[list[str], list[list[Any]]]:
    """Header and rows; the delta columns are means over the target languages, against the first
    row. ``vocab_size`` is that of a joint vocabulary."""
    header = ["setting", "", "BPE", "parameters"]
    for column in summary.columns:
        header += [f"{column.title}, {target}" for target in summary.targets]
        header.append(f"Δ {column.title}")
    header.append("paper: XNLI")
    first = summary.settings[0].code
    rows = []
    for setting in summary.settings:
        counts = [summary.parameters[setting.code, target] for target in summary.targets]
        row: list[Any] = [setting.code, setting.name, setting.bpe(vocab_size)]
        row.append(round(statistics.fmean(counts)))
        for column in summary.columns:
            deltas = []
            for target in summary.targets:
                values = summary.values[setting.code, target, column.title]
                base = summary.values[first, target, column.title]
                row.append(OverSeeds.of(values, column.digits))
                deltas.append(statistics.fmean(values) - statistics.fmean(base))
            row.append(OverSeeds((statistics.fmean(deltas),), column.digits, signed=True))
        paper = setting.paper_xnli
        rows.append([*row, None if paper is None else OverSeeds((paper,), 1)])
    return header, rows


def write_ablation(
    run: Path, config: AblationConfig, cells: Sequence[SharingModel], steps: Sequence[Step]
) -> None:
    """Write ``table.md``, ``table.csv``, ``plot.svg``, ``report.html`` and ``results.json``."""
    summary = summarise(cells, config.test_list)
    header, rows = table(summary, config.vocab_size)
    record = {
        "config": dataclasses.asdict(config),
        **{"header": header, "rows": rows},
        "targets": summary.targets,
        "columns": [
            {"title": c.title, "unit": c.unit, "compares": c.compares, "digits": c.digits}
            for c in summary.columns
        ],
        "tasks": [task.title for task in config.task_table.values()],
        "values": [
            {
                **{"setting": code, "target": target, "measure": title, "seeds": values},
                "chance": summary.chance.get((target, title)),
                "parameters": summary.parameters[code, target],
            }
            for (code, target, title), values in summary.values.items()
        ],
    }
    write_results(Ablation, run, record, {}, steps)


@KINDS.register("ablation")
class Ablation(Kind):
    """The table, and dots of every seed for each figure that settings can be compared by."""

    name = "ablation"

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, values = record["header"], record["values"]
        rows = [[read_cell(cell) for cell in row] for row in record["rows"]]
        facts = (
            f"{config['arch']}, {config['layers']} layers, {describe_steps(config)}.",
            seeds_in_words(config["seeds"], "dots"),
        )
        first = header.index(f"{record['columns'][0]['title']}, {record['targets'][0]}")
        keys = ("setting", "target", "measure")
        seeds = [int(seed) for seed in config["seeds"].split(",")]
        every = [
            [*(one[key] for key in keys), seed, value, one["chance"], one["parameters"]]
            for one in values
            for seed, value in zip(seeds, one["seeds"], strict=True)
        ]
        return Page(
            title="Emerging cross-lingual structure",
            source=SOURCE,
            lead=["What a masked language model of two languages needs in order to align them."],
            sections=[
                Section(
                    "Table",
                    header=header,
                    rows=rows,
                    notes=[*_notes(record), f"{result.machine}."],
                    name="table",
                ),
                *filter(None, [sharing_claims(record)]),
                Section(
                    "Single seeds",
                    figure=partial(draw_dots, _panels(record)),
                    notes=caption(result, SOURCE, *facts),
                    name="plot",
                ),
            ],
            tables={"table": ([*keys, "seed", "value", "chance", "parameters"], every)},
            measured=[
                Measured(row[0], header[first], row[first].mean)
                for row in rows
                if row[0][1:].isdigit() and row[first]  # A1 to A10 are rows; C and others of ours
            ],
        )


def _panels(record: Mapping[str, Any]) -> list[DotPanel]:
    codes = [row[0] for row in record["rows"]]
    names = [f"{row[0]} {row[1]}" for row in record["rows"]]
    found = {(v["setting"], v["target"], v["measure"]): v for v in record["values"]}
    panels = []
    for column in record["columns"]:
        title = column["title"]
        for target in record["targets"] if column["compares"] else ():
            chance = found[codes[0], target, title]["chance"]
            panels.append(
                DotPanel(
                    names,
                    [found[code, target, title]["seeds"] for code in codes],
                    xlabel=f"{title}{column['unit']}",
                    title=f"{target}: {title}",
                    chance=None if chance is None else (chance, f"chance ({chance:.4f})"),
                )
            )
    return panels


def _notes(record: Mapping[str, Any]) -> list[str]:
    config, first = record["config"], record["rows"][0][0]
    compared = {column["title"] for column in record["columns"] if column["compares"]}
    chances = ", ".join(
        f"{one['measure']} {one['chance']:.4f} ({one['target']})"
        for one in record["values"]
        if one["setting"] == first and one["measure"] in compared and one["chance"] is not None
    )
    source = config["languages"].partition(",")[0]
    zero_shot = [
        f"{', '.join(record['tasks'])}: fine-tuned and selected on {source} alone, with private "
        "parts frozen; tested on the target language (%)."
    ]
    return [
        f"Mean ± standard deviation over seeds {config['seeds']}; Δ is the mean difference "
        f"to {first} over the target languages; parameters are also means.",
        "Sentence P@1 and word MRR are those of the best layer, without a map, at the "
        f"checkpoint with the lowest {source} validation perplexity. Chance: {chances}.",
        f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {config['layers']} layers.",
        "Bits per word are comparable only between rows with the same vocabulary (A1, A5; A3, A9, "
        "A10, A5-union, T; A4; A6 to A8 and C).",
        "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, of "
        "models a thousand times larger; they are shown only for orientation.",
        *(zero_shot if record["tasks"] else ()),
    ]


def sharing_claims(record: Mapping[str, Any]) -> Section | None:
    """What the paper says of transfer, by every figure that settings can be compared by, the mean
    over target languages."""
    compared = [one for one in record["columns"] if one["compares"]]
    digits = {one["title"]: one.get("digits", 3) for one in compared}  # older runs have none
    measures: dict[str, dict[str, list[float]]] = {}
    for measure in digits:
        by_target: dict[str, list[Sequence[float]]] = {}
        for one in record["values"]:
            if one["measure"] == measure:
                by_target.setdefault(one["setting"], []).append(one["seeds"])
        measures[measure] = {
            code: [statistics.fmean(of_seed) for of_seed in zip(*values, strict=True)]
            for code, values in by_target.items()
        }
    return claims_section(CLAIMS, measures, digits, record["config"]["seeds"])
